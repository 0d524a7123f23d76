"""From stored votes to boards: queries, win counts, statistics, boards, plots, downloads."""
