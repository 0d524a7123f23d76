"""Task maps: distances between tasks, their clusters, and how alike models are ranked on near ones."""
