"""Campaign battles: the task of a campaign's seats that is a battle, by a design, until its stop is reached."""
