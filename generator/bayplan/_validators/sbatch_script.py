"""Made from schemas/sbatch-script.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
from typing import Any

from bayplan._validators import Patterns, Refused, Word

REGEX_PATTERNS = Patterns(
    {
    }
)

NoneType = type(None)

def validate(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['sbatch']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "sbatch" in data_keys:
            data_keys.remove("sbatch")
            data__sbatch = data["sbatch"]
            if not isinstance(data__sbatch, (dict)):
                raise Refused
            data__sbatch_is_dict = isinstance(data__sbatch, dict)
            if data__sbatch_is_dict:
                data__sbatch__missing_keys = set(['name', 'interpreter', 'directives', 'comments', 'body', 'variables']) - data__sbatch.keys()
                if data__sbatch__missing_keys:
                    raise Refused
                data__sbatch_keys = set(data__sbatch.keys())
                if "name" in data__sbatch_keys:
                    data__sbatch_keys.remove("name")
                    data__sbatch__name = data__sbatch["name"]
                    if not isinstance(data__sbatch__name, (str)):
                        raise Refused
                    if isinstance(data__sbatch__name, str):
                        data__sbatch__name_len = len(data__sbatch__name)
                        if data__sbatch__name_len < 1:
                            raise Refused
                        if data__sbatch__name_len > 200:
                            raise Refused
                if "interpreter" in data__sbatch_keys:
                    data__sbatch_keys.remove("interpreter")
                    data__sbatch__interpreter = data__sbatch["interpreter"]
                    if not isinstance(data__sbatch__interpreter, (str)):
                        raise Refused
                    if isinstance(data__sbatch__interpreter, str):
                        data__sbatch__interpreter_len = len(data__sbatch__interpreter)
                        if data__sbatch__interpreter_len > 4096:
                            raise Refused
                if "directives" in data__sbatch_keys:
                    data__sbatch_keys.remove("directives")
                    data__sbatch__directives = data__sbatch["directives"]
                    if not isinstance(data__sbatch__directives, (list, tuple)):
                        raise Refused
                    data__sbatch__directives_is_list = isinstance(data__sbatch__directives, (list, tuple))
                    if data__sbatch__directives_is_list:
                        data__sbatch__directives_len = len(data__sbatch__directives)
                        for data__sbatch__directives_x, data__sbatch__directives_item in enumerate(data__sbatch__directives):
                            validate___definitions_directive(data__sbatch__directives_item)
                if "comments" in data__sbatch_keys:
                    data__sbatch_keys.remove("comments")
                    data__sbatch__comments = data__sbatch["comments"]
                    if not isinstance(data__sbatch__comments, (str)):
                        raise Refused
                    if isinstance(data__sbatch__comments, str):
                        data__sbatch__comments_len = len(data__sbatch__comments)
                        if data__sbatch__comments_len > 1000000:
                            raise Refused
                if "body" in data__sbatch_keys:
                    data__sbatch_keys.remove("body")
                    data__sbatch__body = data__sbatch["body"]
                    validate___definitions_body(data__sbatch__body)
                if "variables" in data__sbatch_keys:
                    data__sbatch_keys.remove("variables")
                    data__sbatch__variables = data__sbatch["variables"]
                    if not isinstance(data__sbatch__variables, (dict)):
                        raise Refused
                    data__sbatch__variables_is_dict = isinstance(data__sbatch__variables, dict)
                    if data__sbatch__variables_is_dict:
                        data__sbatch__variables_keys = set(data__sbatch__variables.keys())
                        for data__sbatch__variables_key in data__sbatch__variables_keys:
                            if data__sbatch__variables_key not in []:
                                data__sbatch__variables_value = data__sbatch__variables.get(data__sbatch__variables_key)
                                if not isinstance(data__sbatch__variables_value, (str)):
                                    raise Refused
                if data__sbatch_keys:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_body(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['line', 'text']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "line" in data_keys:
            data_keys.remove("line")
            data__line = data["line"]
            if not isinstance(data__line, (int)) and not (isinstance(data__line, float) and data__line.is_integer()) or isinstance(data__line, bool):
                raise Refused
            if isinstance(data__line, (int, float)) and not isinstance(data__line, bool):
                if data__line < 1:
                    raise Refused
                if data__line > 10000000:
                    raise Refused
        if "text" in data_keys:
            data_keys.remove("text")
            data__text = data["text"]
            if not isinstance(data__text, (str)):
                raise Refused
            if isinstance(data__text, str):
                data__text_len = len(data__text)
                if data__text_len > 1000000:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_directive(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['line', 'words']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "line" in data_keys:
            data_keys.remove("line")
            data__line = data["line"]
            if not isinstance(data__line, (int)) and not (isinstance(data__line, float) and data__line.is_integer()) or isinstance(data__line, bool):
                raise Refused
            if isinstance(data__line, (int, float)) and not isinstance(data__line, bool):
                if data__line < 1:
                    raise Refused
                if data__line > 10000000:
                    raise Refused
        if "words" in data_keys:
            data_keys.remove("words")
            data__words = data["words"]
            if not isinstance(data__words, (list, tuple)):
                raise Refused
            data__words_is_list = isinstance(data__words, (list, tuple))
            if data__words_is_list:
                data__words_len = len(data__words)
                if data__words_len < 1:
                    raise Refused
                for data__words_x, data__words_item in enumerate(data__words):
                    validate___definitions_word(data__words_item)
        if data_keys:
            raise Refused
    return data

def validate___definitions_word(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['column', 'text']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "column" in data_keys:
            data_keys.remove("column")
            data__column = data["column"]
            if not isinstance(data__column, (int)) and not (isinstance(data__column, float) and data__column.is_integer()) or isinstance(data__column, bool):
                raise Refused
            if isinstance(data__column, (int, float)) and not isinstance(data__column, bool):
                if data__column < 1:
                    raise Refused
                if data__column > 10000000:
                    raise Refused
        if "text" in data_keys:
            data_keys.remove("text")
            data__text = data["text"]
            if not isinstance(data__text, (str)):
                raise Refused
        if data_keys:
            raise Refused
    return data
