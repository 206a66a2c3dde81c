torchx run -s kubernetes torchx.py:chat
torchx run -s kubernetes torchx.py:chat
