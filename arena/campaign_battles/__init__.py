"""Campaign battles: seats of a campaign judge battles, drawn by a design, until the campaign's stop is reached."""
