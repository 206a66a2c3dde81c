"""Mutated inputs through every command of bayplan: `python -m fuzz --help`.

`seeds` collects inputs from the repository, `mutate` changes them, `judge` runs them and says what is wrong, `campaign`
counts them, and `guided` lets atheris choose them by the code that they reach. `corpus` has the inputs that once
failed, in the form of tests/cases.
"""
