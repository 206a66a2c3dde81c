"""A batch script's body as a shell reads it. Nothing is run: what takes running is told as unknown.

words.py       characters -> words of pieces (text, variables, substitutions)
statements.py  words -> statements, in blocks where they belong to a loop, a branch or a function
values.py      pieces -> texts, as far as they are known before the job starts
idioms.py      substitutions that scripts look up their nodes with
sums.py        $((arithmetic))
"""
