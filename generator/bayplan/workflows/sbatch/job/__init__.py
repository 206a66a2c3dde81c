"""Directives and steps as pods: what each asks for, and where it is to stand.

given.py     words -> options; what becomes of those that are not carried
amounts.py   times, sizes, counts and GPUs as Slurm writes them
shape.py     the options of a section or a step -> how many pods, and what each asks for
images.py    images and mounts of pyxis
body.py      the statements of the body -> steps, with the variables that they find
known.py     commands that scripts have beside their steps, and what becomes of them
placing.py   segments and switches -> groups with levels
own.py       tasks of scripts that bayplan itself has written
"""
