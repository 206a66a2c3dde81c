#!/bin/bash
#SBATCH --nodes=4
#SBATCH --segment=4
srun --container-image=registry.example.com/train:1 python train.py
