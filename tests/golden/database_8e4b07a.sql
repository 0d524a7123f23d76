BEGIN TRANSACTION;
CREATE TABLE act (
	id INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	deed TEXT NOT NULL, 
	about TEXT NOT NULL, 
	done_at BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE adoption (
	guest INTEGER NOT NULL, 
	person INTEGER NOT NULL, 
	until BIGINT NOT NULL, 
	PRIMARY KEY (guest), 
	FOREIGN KEY(guest) REFERENCES voter (id), 
	FOREIGN KEY(person) REFERENCES voter (id)
);
CREATE TABLE answer (
	id INTEGER NOT NULL, 
	item_id INTEGER NOT NULL, 
	model_id INTEGER NOT NULL, 
	predictions_id INTEGER, 
	text TEXT NOT NULL, 
	withdrawn_at BIGINT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(item_id) REFERENCES item (id), 
	FOREIGN KEY(model_id) REFERENCES model (id), 
	FOREIGN KEY(predictions_id) REFERENCES predictions (id)
);
INSERT INTO "answer" VALUES(1,1,1,NULL,'m1 says 0',NULL);
INSERT INTO "answer" VALUES(2,1,2,NULL,'m2 says 0',NULL);
INSERT INTO "answer" VALUES(3,1,3,NULL,'m3 says 0',NULL);
INSERT INTO "answer" VALUES(4,2,1,NULL,'m1 says 1',NULL);
INSERT INTO "answer" VALUES(5,2,2,NULL,'m2 says 1',NULL);
INSERT INTO "answer" VALUES(6,2,3,NULL,'m3 says 1',NULL);
CREATE TABLE batch (
	name TEXT NOT NULL, 
	address TEXT NOT NULL, 
	model TEXT NOT NULL, 
	remote TEXT, 
	asked TEXT NOT NULL, 
	created BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE battle (
	id INTEGER NOT NULL, 
	token TEXT NOT NULL, 
	voter_id INTEGER NOT NULL, 
	item_id INTEGER NOT NULL, 
	model_low INTEGER NOT NULL, 
	model_high INTEGER NOT NULL, 
	low_is_a BOOLEAN NOT NULL, 
	answer_a INTEGER NOT NULL, 
	answer_b INTEGER NOT NULL, 
	seat_id INTEGER, 
	served_at BIGINT NOT NULL, 
	draw TEXT, 
	draw_probability FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (voter_id, item_id, model_low, model_high), 
	CHECK (model_low < model_high), 
	UNIQUE (token), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	FOREIGN KEY(item_id) REFERENCES item (id), 
	FOREIGN KEY(model_low) REFERENCES model (id), 
	FOREIGN KEY(model_high) REFERENCES model (id), 
	FOREIGN KEY(answer_a) REFERENCES answer (id), 
	FOREIGN KEY(answer_b) REFERENCES answer (id), 
	FOREIGN KEY(seat_id) REFERENCES seat (id)
);
INSERT INTO "battle" VALUES(1,'9_kntp76ykN9R7isoR1Psw',1,1,1,2,1,1,2,NULL,1795821566451182,'lot',NULL);
INSERT INTO "battle" VALUES(2,'Inqu_-340-dtmXV798hWiA',1,1,1,3,1,1,3,NULL,1795821566476829,'lot',NULL);
INSERT INTO "battle" VALUES(3,'xGzAXh-YrdGTlxo0MyYHZg',2,1,1,2,1,1,2,NULL,1795821566494829,'lot',NULL);
INSERT INTO "battle" VALUES(4,'0Q48CxyzQUb92X6pOOiETw',2,1,1,3,1,1,3,NULL,1795821566497290,'lot',NULL);
CREATE TABLE board_model (
	board TEXT NOT NULL, 
	model_id INTEGER NOT NULL, 
	since BIGINT NOT NULL, 
	PRIMARY KEY (board, model_id), 
	FOREIGN KEY(model_id) REFERENCES model (id)
);
CREATE TABLE budget (
	name TEXT NOT NULL, 
	spent BIGINT NOT NULL, 
	held BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE campaign (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	task TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
CREATE TABLE campaign_end (
	campaign_id INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	ended_at BIGINT NOT NULL, 
	PRIMARY KEY (campaign_id), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);
CREATE TABLE campaign_participant (
	campaign_id INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	status TEXT NOT NULL, 
	PRIMARY KEY (campaign_id, person), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);
CREATE TABLE clock (
	id INTEGER NOT NULL, 
	seen BIGINT NOT NULL, 
	ahead BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "clock" VALUES(1,1795821566463343,0);
CREATE TABLE counted_flag (
	voter_id INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	model_id INTEGER, 
	strength FLOAT NOT NULL, 
	raised_at BIGINT NOT NULL, 
	PRIMARY KEY (voter_id, reason), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	FOREIGN KEY(model_id) REFERENCES model (id)
);
CREATE TABLE draft (
	id INTEGER NOT NULL, 
	campaign_id INTEGER NOT NULL, 
	family TEXT NOT NULL, 
	origin TEXT, 
	created_at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (campaign_id, origin), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);
CREATE TABLE draft_claim (
	draft_id INTEGER NOT NULL, 
	token TEXT NOT NULL, 
	step TEXT NOT NULL, 
	seat_id INTEGER, 
	voter_id INTEGER, 
	claimed_at BIGINT NOT NULL, 
	PRIMARY KEY (draft_id), 
	FOREIGN KEY(draft_id) REFERENCES draft (id), 
	UNIQUE (token), 
	FOREIGN KEY(seat_id) REFERENCES seat (id), 
	FOREIGN KEY(voter_id) REFERENCES voter (id)
);
CREATE TABLE draft_event (
	id INTEGER NOT NULL, 
	draft_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	value TEXT NOT NULL, 
	seat_id INTEGER, 
	voter_id INTEGER, 
	began_at BIGINT, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (draft_id, voter_id), 
	FOREIGN KEY(draft_id) REFERENCES draft (id), 
	FOREIGN KEY(seat_id) REFERENCES seat (id), 
	FOREIGN KEY(voter_id) REFERENCES voter (id)
);
CREATE TABLE draft_picture (
	id INTEGER NOT NULL, 
	draft_id INTEGER NOT NULL, 
	seat_id INTEGER NOT NULL, 
	sha256 TEXT NOT NULL, 
	suffix TEXT NOT NULL, 
	url TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (draft_id, seat_id, sha256), 
	FOREIGN KEY(draft_id) REFERENCES draft (id), 
	FOREIGN KEY(seat_id) REFERENCES seat (id)
);
CREATE TABLE family (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "family" VALUES(1,'Color');
INSERT INTO "family" VALUES(2,'Counting');
CREATE TABLE free_report (
	link TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY (link), 
	FOREIGN KEY(link) REFERENCES job (link) ON DELETE CASCADE
);
CREATE TABLE held_battle (
	voter_id INTEGER NOT NULL, 
	token TEXT NOT NULL, 
	item_id INTEGER NOT NULL, 
	model_a INTEGER NOT NULL, 
	model_b INTEGER NOT NULL, 
	answer_a INTEGER NOT NULL, 
	answer_b INTEGER NOT NULL, 
	draw TEXT NOT NULL, 
	draw_probability FLOAT, 
	seat_id INTEGER, 
	held_at BIGINT NOT NULL, 
	PRIMARY KEY (voter_id), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	FOREIGN KEY(item_id) REFERENCES item (id), 
	FOREIGN KEY(model_a) REFERENCES model (id), 
	FOREIGN KEY(model_b) REFERENCES model (id), 
	FOREIGN KEY(answer_a) REFERENCES answer (id), 
	FOREIGN KEY(answer_b) REFERENCES answer (id), 
	FOREIGN KEY(seat_id) REFERENCES seat (id)
);
CREATE TABLE hidden_item (
	item_id INTEGER NOT NULL, 
	hidden_at BIGINT NOT NULL, 
	PRIMARY KEY (item_id), 
	FOREIGN KEY(item_id) REFERENCES item (id)
);
CREATE TABLE hold (
	id INTEGER NOT NULL, 
	job TEXT NOT NULL, 
	day TEXT NOT NULL, 
	amount BIGINT NOT NULL, 
	since BIGINT NOT NULL, 
	network TEXT, 
	PRIMARY KEY (id)
);
CREATE TABLE image (
	id INTEGER NOT NULL, 
	item_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	url TEXT, 
	sha256 TEXT, 
	suffix TEXT NOT NULL, 
	caption TEXT NOT NULL, 
	credit TEXT NOT NULL, 
	licence TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (item_id, position), 
	FOREIGN KEY(item_id) REFERENCES item (id)
);
INSERT INTO "image" VALUES(1,1,0,'key-0-0','0-0.png',NULL,'0000000000000000000000000000000000000000000000000000000000000000','png','','','');
INSERT INTO "image" VALUES(2,2,0,'key-1-0','1-0.png',NULL,'0000000000000000000000000000000000000000000000000000000000000001','png','','','');
CREATE TABLE imported_item (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE ("key")
);
CREATE TABLE imported_row (
	id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	format TEXT NOT NULL, 
	"row" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (source_id, digest), 
	FOREIGN KEY(source_id) REFERENCES imported_source (id)
);
CREATE TABLE imported_source (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	judge BOOLEAN NOT NULL, 
	demo BOOLEAN NOT NULL, 
	into_live BOOLEAN NOT NULL, 
	both_bad TEXT NOT NULL, 
	counted_to INTEGER NOT NULL, 
	imported_at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	CHECK (both_bad IN ('half', 'out')), 
	UNIQUE (name)
);
CREATE TABLE imported_vote (
	id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	choice TEXT NOT NULL, 
	winner INTEGER NOT NULL, 
	loser INTEGER NOT NULL, 
	item_id INTEGER, 
	voter_id INTEGER, 
	voted_at BIGINT, 
	family_id INTEGER, 
	images INTEGER, 
	language TEXT, 
	turns INTEGER, 
	conversation TEXT, 
	blind BOOLEAN, 
	judge BOOLEAN, 
	PRIMARY KEY (id), 
	CHECK (choice IN ('a', 'b', 'tie', 'both_bad')), 
	FOREIGN KEY(id) REFERENCES imported_row (id), 
	FOREIGN KEY(source_id) REFERENCES imported_source (id), 
	FOREIGN KEY(winner) REFERENCES model (id), 
	FOREIGN KEY(loser) REFERENCES model (id), 
	FOREIGN KEY(item_id) REFERENCES imported_item (id), 
	FOREIGN KEY(voter_id) REFERENCES imported_voter (id), 
	FOREIGN KEY(family_id) REFERENCES family (id)
);
CREATE TABLE imported_voter (
	id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (source_id, name), 
	FOREIGN KEY(source_id) REFERENCES imported_source (id)
);
CREATE TABLE item (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	source_id INTEGER NOT NULL, 
	family_id INTEGER NOT NULL, 
	instruction TEXT NOT NULL, 
	multi BOOLEAN NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE ("key"), 
	FOREIGN KEY(source_id) REFERENCES source (id), 
	FOREIGN KEY(family_id) REFERENCES family (id)
);
INSERT INTO "item" VALUES(1,'6776d325df17c1a1',1,2,'What is in picture 0?',0);
INSERT INTO "item" VALUES(2,'a6b7590bf4fde368',1,1,'What is in picture 1?',0);
CREATE TABLE job (
	link TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	draft TEXT NOT NULL, 
	benchmark TEXT NOT NULL, 
	protocol TEXT NOT NULL, 
	title TEXT NOT NULL, 
	file TEXT NOT NULL, 
	address TEXT NOT NULL, 
	model TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	own_key BOOLEAN NOT NULL, 
	quote TEXT NOT NULL, 
	ratio FLOAT NOT NULL, 
	state TEXT NOT NULL, 
	problem TEXT NOT NULL, 
	done INTEGER NOT NULL, 
	total INTEGER NOT NULL, 
	fresh INTEGER NOT NULL, 
	created BIGINT NOT NULL, 
	queued BIGINT, 
	started BIGINT, 
	finished BIGINT, 
	holder TEXT, 
	until BIGINT, 
	report TEXT, 
	network TEXT, 
	published BOOLEAN DEFAULT 0 NOT NULL, 
	score TEXT, 
	PRIMARY KEY (link)
);
CREATE TABLE judge_baseline (
	id INTEGER NOT NULL, 
	address TEXT NOT NULL, 
	model TEXT NOT NULL, 
	prompt TEXT NOT NULL, 
	frozen TEXT NOT NULL, 
	scores TEXT NOT NULL, 
	versions TEXT NOT NULL, 
	fingerprints TEXT NOT NULL, 
	accepted_at BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE judge_look (
	id INTEGER NOT NULL, 
	baseline_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	shift FLOAT NOT NULL, 
	p FLOAT NOT NULL, 
	level FLOAT NOT NULL, 
	scores TEXT NOT NULL, 
	versions TEXT NOT NULL, 
	fingerprints TEXT NOT NULL, 
	looked_at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (baseline_id, number), 
	FOREIGN KEY(baseline_id) REFERENCES judge_baseline (id)
);
CREATE TABLE judged (
	id INTEGER NOT NULL, 
	judging_id INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	multi BOOLEAN NOT NULL, 
	family TEXT NOT NULL, 
	item TEXT NOT NULL, 
	a TEXT NOT NULL, 
	b TEXT NOT NULL, 
	a_first TEXT, 
	b_first TEXT, 
	replies TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (judging_id, source, item, a, b), 
	FOREIGN KEY(judging_id) REFERENCES judging (id)
);
CREATE TABLE judging (
	id INTEGER NOT NULL, 
	model TEXT NOT NULL, 
	address TEXT NOT NULL, 
	protocol TEXT NOT NULL, 
	reference TEXT NOT NULL, 
	context TEXT NOT NULL, 
	prompt TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (model, address, protocol, reference, context, prompt)
);
CREATE TABLE live_battle (
	id INTEGER NOT NULL, 
	token TEXT NOT NULL, 
	voter_id INTEGER NOT NULL, 
	item_id INTEGER, 
	images INTEGER NOT NULL, 
	keep BOOLEAN NOT NULL, 
	began_at BIGINT NOT NULL, 
	draw_probability FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (token), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	FOREIGN KEY(item_id) REFERENCES item (id)
);
CREATE TABLE live_failure (
	id INTEGER NOT NULL, 
	model_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	failed_at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(model_id) REFERENCES model (id)
);
CREATE TABLE live_question (
	battle_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	asked_at BIGINT NOT NULL, 
	PRIMARY KEY (battle_id, number), 
	FOREIGN KEY(battle_id) REFERENCES live_battle (id)
);
CREATE TABLE live_reveal (
	battle_id INTEGER NOT NULL, 
	revealed_at BIGINT NOT NULL, 
	PRIMARY KEY (battle_id), 
	FOREIGN KEY(battle_id) REFERENCES live_battle (id)
);
CREATE TABLE live_turn (
	battle_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	model_a INTEGER NOT NULL, 
	model_b INTEGER NOT NULL, 
	answer_a TEXT NOT NULL, 
	answer_b TEXT NOT NULL, 
	stopped BOOLEAN NOT NULL, 
	named BOOLEAN NOT NULL, 
	ended_at BIGINT NOT NULL, 
	PRIMARY KEY (battle_id, number), 
	CHECK (model_a <> model_b), 
	FOREIGN KEY(battle_id) REFERENCES live_battle (id), 
	FOREIGN KEY(model_a) REFERENCES model (id), 
	FOREIGN KEY(model_b) REFERENCES model (id)
);
CREATE TABLE live_undo (
	battle_id INTEGER NOT NULL, 
	undone_at BIGINT NOT NULL, 
	PRIMARY KEY (battle_id), 
	FOREIGN KEY(battle_id) REFERENCES live_battle (id)
);
CREATE TABLE live_void (
	battle_id INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	ended_at BIGINT NOT NULL, 
	PRIMARY KEY (battle_id), 
	FOREIGN KEY(battle_id) REFERENCES live_battle (id)
);
CREATE TABLE live_vote (
	id INTEGER NOT NULL, 
	battle_id INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	voter_id INTEGER NOT NULL, 
	choice TEXT NOT NULL, 
	winner INTEGER NOT NULL, 
	loser INTEGER NOT NULL, 
	turns INTEGER NOT NULL, 
	outside TEXT, 
	voted_at BIGINT NOT NULL, 
	tick BIGINT DEFAULT '0' NOT NULL, 
	terms TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (battle_id, attempt), 
	CHECK (choice IN ('a', 'b')), 
	CHECK (outside IS NULL OR outside IN ('stopped', 'named itself')), 
	FOREIGN KEY(battle_id) REFERENCES live_battle (id), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	FOREIGN KEY(winner) REFERENCES model (id), 
	FOREIGN KEY(loser) REFERENCES model (id)
);
CREATE TABLE live_wins (
	own BOOLEAN NOT NULL, 
	multi BOOLEAN NOT NULL, 
	winner INTEGER NOT NULL, 
	loser INTEGER NOT NULL, 
	n INTEGER NOT NULL, 
	left_n INTEGER NOT NULL, 
	change BIGINT NOT NULL, 
	PRIMARY KEY (own, multi, winner, loser), 
	FOREIGN KEY(winner) REFERENCES model (id), 
	FOREIGN KEY(loser) REFERENCES model (id)
);
CREATE TABLE login (
	cookie_hash TEXT NOT NULL, 
	voter_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	since BIGINT NOT NULL, 
	ended_at BIGINT, 
	PRIMARY KEY (cookie_hash), 
	FOREIGN KEY(voter_id) REFERENCES voter (id)
);
CREATE TABLE mark (
	id INTEGER NOT NULL, 
	token TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	report TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	item TEXT NOT NULL, 
	stratum TEXT NOT NULL, 
	marker TEXT NOT NULL, 
	round INTEGER NOT NULL, 
	seat_id INTEGER, 
	drawn_at BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (kind, report, answer, marker, round), 
	UNIQUE (token), 
	FOREIGN KEY(seat_id) REFERENCES seat (id)
);
CREATE TABLE mark_value (
	mark_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	value TEXT NOT NULL, 
	further TEXT NOT NULL, 
	note TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (mark_id, number), 
	FOREIGN KEY(mark_id) REFERENCES mark (id) ON DELETE CASCADE
);
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value INTEGER NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('schema',11);
INSERT INTO "meta" VALUES('bank',1);
CREATE TABLE mirror (
	id INTEGER NOT NULL, 
	tried_at BIGINT, 
	copied_at BIGINT, 
	problem TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE model (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	display TEXT NOT NULL, 
	retired_at BIGINT, 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	UNIQUE (display)
);
INSERT INTO "model" VALUES(1,'m1','m1',NULL);
INSERT INTO "model" VALUES(2,'m2','m2',NULL);
INSERT INTO "model" VALUES(3,'m3','m3',NULL);
CREATE TABLE network_day (
	network TEXT NOT NULL, 
	day TEXT NOT NULL, 
	dealt INTEGER NOT NULL, 
	PRIMARY KEY (network)
);
CREATE TABLE network_key (
	day TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	PRIMARY KEY (day)
);
CREATE TABLE official_board (
	id INTEGER NOT NULL, 
	voters TEXT NOT NULL, 
	since BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE outbox (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	"key" TEXT NOT NULL
);
CREATE TABLE own_image (
	id INTEGER NOT NULL, 
	token TEXT NOT NULL, 
	voter_id INTEGER NOT NULL, 
	battle_id INTEGER, 
	position INTEGER NOT NULL, 
	sha256 TEXT NOT NULL, 
	suffix TEXT NOT NULL, 
	kept BOOLEAN NOT NULL, 
	arrived_at BIGINT NOT NULL, 
	gone_at BIGINT, 
	PRIMARY KEY (id), 
	UNIQUE (token), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	FOREIGN KEY(battle_id) REFERENCES live_battle (id)
);
CREATE TABLE pause (
	id INTEGER NOT NULL, 
	since BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE person (
	voter_id INTEGER NOT NULL, 
	subject TEXT NOT NULL, 
	since BIGINT NOT NULL, 
	PRIMARY KEY (voter_id), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	UNIQUE (subject)
);
CREATE TABLE predictions (
	id INTEGER NOT NULL, 
	model_id INTEGER NOT NULL, 
	file TEXT NOT NULL, 
	imported_at BIGINT NOT NULL, 
	withdrawn_at BIGINT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(model_id) REFERENCES model (id)
);
CREATE TABLE reply (
	"key" TEXT NOT NULL, 
	reply TEXT NOT NULL, 
	created BIGINT NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE report_picture (
	link TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	question TEXT NOT NULL, 
	data BLOB NOT NULL, 
	PRIMARY KEY (link, number), 
	FOREIGN KEY(link) REFERENCES job (link) ON DELETE CASCADE
);
CREATE TABLE reveal (
	battle_id INTEGER NOT NULL, 
	revealed_at BIGINT NOT NULL, 
	PRIMARY KEY (battle_id), 
	FOREIGN KEY(battle_id) REFERENCES battle (id)
);
INSERT INTO "reveal" VALUES(1,1795821566475146);
INSERT INTO "reveal" VALUES(3,1795821566496189);
CREATE TABLE seat (
	id INTEGER NOT NULL, 
	campaign TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	voter_id INTEGER NOT NULL, 
	wanted INTEGER NOT NULL, 
	code TEXT NOT NULL, 
	since BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (campaign, worker), 
	UNIQUE (campaign, voter_id), 
	FOREIGN KEY(voter_id) REFERENCES voter (id)
);
CREATE TABLE seat_entry (
	seat_id INTEGER NOT NULL, 
	campaign_id INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	session TEXT NOT NULL, 
	reply_to TEXT NOT NULL, 
	arrived_at BIGINT NOT NULL, 
	PRIMARY KEY (seat_id), 
	UNIQUE (campaign_id, person), 
	FOREIGN KEY(seat_id) REFERENCES seat (id), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);
CREATE TABLE seat_event (
	seat_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (seat_id, kind), 
	FOREIGN KEY(seat_id) REFERENCES seat (id)
);
CREATE TABLE seat_try (
	seat_id INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	question TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	is_right BOOLEAN NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (seat_id, attempt, number), 
	FOREIGN KEY(seat_id) REFERENCES seat (id)
);
CREATE TABLE secret_key (
	name TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE seen_image (
	image_id INTEGER NOT NULL, 
	seen_at BIGINT NOT NULL, 
	PRIMARY KEY (image_id), 
	FOREIGN KEY(image_id) REFERENCES own_image (id)
);
CREATE TABLE settlement (
	board TEXT NOT NULL, 
	above INTEGER NOT NULL, 
	below INTEGER NOT NULL, 
	votes INTEGER NOT NULL, 
	settled_at BIGINT NOT NULL, 
	PRIMARY KEY (board, above, below), 
	FOREIGN KEY(above) REFERENCES model (id), 
	FOREIGN KEY(below) REFERENCES model (id)
);
CREATE TABLE skip (
	battle_id INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	skipped_at BIGINT NOT NULL, 
	PRIMARY KEY (battle_id), 
	FOREIGN KEY(battle_id) REFERENCES battle (id)
);
CREATE TABLE source (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "source" VALUES(1,'test','folder');
CREATE TABLE submission (
	id INTEGER NOT NULL, 
	owner TEXT NOT NULL, 
	source TEXT NOT NULL, 
	title TEXT NOT NULL, 
	name TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	file TEXT NOT NULL, 
	created BIGINT NOT NULL, 
	withdrawn_at BIGINT, 
	PRIMARY KEY (id), 
	UNIQUE (source, name)
);
CREATE TABLE submitted (
	submission_id INTEGER NOT NULL, 
	item TEXT NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (submission_id, item), 
	FOREIGN KEY(submission_id) REFERENCES submission (id)
);
CREATE TABLE undo (
	battle_id INTEGER NOT NULL, 
	undone_at BIGINT NOT NULL, 
	PRIMARY KEY (battle_id), 
	FOREIGN KEY(battle_id) REFERENCES battle (id)
);
INSERT INTO "undo" VALUES(2,1795821566486203);
INSERT INTO "undo" VALUES(4,1795821566506526);
CREATE TABLE vote (
	id INTEGER NOT NULL, 
	battle_id INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	undo_id INTEGER, 
	voter_id INTEGER NOT NULL, 
	choice TEXT NOT NULL, 
	winner INTEGER NOT NULL, 
	loser INTEGER NOT NULL, 
	voted_at BIGINT NOT NULL, 
	tick BIGINT DEFAULT '0' NOT NULL, 
	terms TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (battle_id, attempt), 
	CHECK (choice IN ('a', 'b')), 
	CHECK ((attempt = 1 AND undo_id IS NULL) OR (attempt = 2 AND undo_id IS NOT NULL AND undo_id = battle_id)), 
	FOREIGN KEY(battle_id) REFERENCES battle (id), 
	FOREIGN KEY(undo_id) REFERENCES undo (battle_id), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	FOREIGN KEY(winner) REFERENCES model (id), 
	FOREIGN KEY(loser) REFERENCES model (id)
);
INSERT INTO "vote" VALUES(1,1,1,NULL,1,'a',1,2,1795821566462920,1795821566463343,'1');
INSERT INTO "vote" VALUES(2,2,1,NULL,1,'a',1,3,1795821566477459,1795821566477481,'1');
INSERT INTO "vote" VALUES(3,3,1,NULL,2,'a',1,2,1795821566495703,1795821566495757,'1');
INSERT INTO "vote" VALUES(4,4,1,NULL,2,'a',1,3,1795821566497878,1795821566497897,'1');
CREATE TABLE voter (
	id INTEGER NOT NULL, 
	cookie_hash TEXT NOT NULL, 
	since BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (cookie_hash)
);
INSERT INTO "voter" VALUES(1,'ada',1795821566431067);
INSERT INTO "voter" VALUES(2,'eve',1795821566489267);
CREATE TABLE voter_flag (
	voter_id INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	model_id INTEGER, 
	strength FLOAT NOT NULL, 
	raised_at BIGINT NOT NULL, 
	PRIMARY KEY (voter_id, reason), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	FOREIGN KEY(model_id) REFERENCES model (id)
);
CREATE TABLE voter_key (
	voter_id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	PRIMARY KEY (voter_id), 
	FOREIGN KEY(voter_id) REFERENCES voter (id), 
	UNIQUE ("key")
);
CREATE TABLE voter_network (
	voter_id INTEGER NOT NULL, 
	network TEXT NOT NULL, 
	PRIMARY KEY (voter_id, network), 
	FOREIGN KEY(voter_id) REFERENCES voter (id)
);
CREATE TABLE wins (
	source_id INTEGER NOT NULL, 
	multi BOOLEAN NOT NULL, 
	family_id INTEGER NOT NULL, 
	winner INTEGER NOT NULL, 
	loser INTEGER NOT NULL, 
	n INTEGER NOT NULL, 
	left_n INTEGER DEFAULT '0' NOT NULL, 
	change BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (source_id, multi, family_id, winner, loser), 
	FOREIGN KEY(source_id) REFERENCES source (id), 
	FOREIGN KEY(family_id) REFERENCES family (id), 
	FOREIGN KEY(winner) REFERENCES model (id), 
	FOREIGN KEY(loser) REFERENCES model (id)
);
INSERT INTO "wins" VALUES(1,0,2,1,2,2,2,3);
INSERT INTO "wins" VALUES(1,0,2,1,3,0,0,4);
CREATE INDEX ix_hold_since ON hold (since);
CREATE INDEX job_queue ON job (state, queued);
CREATE INDEX ix_job_owner ON job (owner);
CREATE INDEX wins_changed ON wins (source_id, multi, change);
CREATE INDEX live_wins_changed ON live_wins (own, multi, change);
CREATE INDEX ix_live_failure_model_id ON live_failure (model_id);
CREATE INDEX ix_adoption_person ON adoption (person);
CREATE INDEX ix_login_voter_id ON login (voter_id);
CREATE INDEX ix_free_report_digest ON free_report (digest);
CREATE INDEX judged_of_board ON judged (source, judging_id, multi);
CREATE UNIQUE INDEX answer_in_use ON answer (item_id, model_id) WHERE withdrawn_at IS NULL;
CREATE INDEX answer_of_predictions ON answer (predictions_id);
CREATE INDEX live_battle_of_voter ON live_battle (voter_id);
CREATE INDEX ix_draft_event_seat_id ON draft_event (seat_id);
CREATE INDEX ix_draft_claim_seat_id ON draft_claim (seat_id);
CREATE INDEX imported_vote_of_source ON imported_vote (source_id);
CREATE INDEX ix_mark_answer ON mark (answer);
CREATE INDEX ix_mark_owner ON mark (owner);
CREATE INDEX ix_battle_seat_id ON battle (seat_id);
CREATE INDEX battle_of_pair ON battle (item_id, model_low, model_high);
CREATE INDEX live_vote_tick ON live_vote (tick);
CREATE INDEX live_vote_of_voter ON live_vote (voter_id);
CREATE INDEX ix_own_image_voter_id ON own_image (voter_id);
CREATE INDEX ix_own_image_battle_id ON own_image (battle_id);
CREATE INDEX vote_tick ON vote (tick);
CREATE INDEX vote_of_voter ON vote (voter_id);
DELETE FROM "sqlite_sequence";
COMMIT;
