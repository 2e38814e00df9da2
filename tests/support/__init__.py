"""What tests share: strategies, small problems, files, processes, and ways to say that two models are one."""
