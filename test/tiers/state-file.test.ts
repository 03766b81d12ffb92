import { execFileSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TierStateFile, tierStateFolder } from "../../src/tiers/index.ts";
import { TierTracker } from "../../src/tiers/tracker.ts";
import { tempDir } from "../support/temp.ts";
import { items, times } from "./items.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** A state after so many requests with `a.ts`. */
function stateAfter(requests: number) {
	const tracker = new TierTracker({ targetTokens: 0 });
	times(requests, () => tracker.update({ active: items("a.ts") }));
	return tracker.toJSON();
}

function open(projectRoot: string, sessionId = "session-1") {
	return new TierStateFile(projectRoot, sessionId);
}

/** The path of the only state there is. */
function onlyState(projectRoot: string): string {
	const folder = tierStateFolder(projectRoot);
	const names = readdirSync(folder).filter((name) => name.startsWith("session-"));
	expect(names).toHaveLength(1);
	return join(folder, names[0] ?? "");
}

describe("the state of a session", () => {
	test("is there again after a restart", async () => {
		const project = tempDir();
		expect(await open(project).load()).toEqual({ origin: "fresh" });
		expect(await open(project).save(stateAfter(3))).toBeUndefined();
		expect(await open(project).load()).toEqual({ origin: "session", state: stateAfter(3) });
	});

	test("lies in .pi/strata, which git ignores and only its owner can read", async () => {
		const project = tempDir();
		await open(project).save(stateAfter(1));
		const folder = join(project, ".pi", "strata");
		expect(readFileSync(join(folder, ".gitignore"), "utf8")).toBe("*\n");
		expect(JSON.parse(readFileSync(join(folder, "version.json"), "utf8"))).toEqual({
			store: "tiers",
			version: 1,
		});
		expect(readdirSync(folder).toSorted()).toEqual([
			".gitignore",
			"session-session-1.json",
			"version.json",
		]);
		if (process.platform !== "win32") {
			expect(statSync(join(folder, "session-session-1.json")).mode & 0o777).toBe(0o600);
		}
	});

	test("leaves no folder behind if it is only looked for", async () => {
		const project = tempDir();
		await open(project).load();
		await open(project).sweep();
		expect(readdirSync(project)).toEqual([]);
	});

	test("is its own: two sessions in one project do not overwrite each other", async () => {
		const project = tempDir();
		await open(project, "one").save(stateAfter(1));
		await open(project, "two").save(stateAfter(2));
		expect((await open(project, "one").load()).state).toEqual(stateAfter(1));
		expect((await open(project, "two").load()).state).toEqual(stateAfter(2));
	});

	test("of saves that overlap, the last one stands", async () => {
		const project = tempDir();
		const file = open(project);
		await Promise.all([5, 1, 4, 2].map((requests) => file.save(stateAfter(requests))));
		expect((await file.load()).state).toEqual(stateAfter(2));
	});

	test("is written only when it changed", async () => {
		const project = tempDir();
		const file = open(project);
		await file.save(stateAfter(1));
		utimesSync(onlyState(project), 1000, 1000);
		await file.save(stateAfter(1));
		expect(statSync(onlyState(project)).mtimeMs).toBe(1000_000);
		await file.save(stateAfter(2));
		expect(statSync(onlyState(project)).mtimeMs).toBeGreaterThan(1000_000);
	});

	test.each(["../../etc/passwd", "a/b", "", ".", "..", "con:", "x".repeat(500), "nul\0l", "ä"])(
		"an id that is no file name never becomes part of a path: %j",
		async (id) => {
			const project = tempDir();
			await open(project, id).save(stateAfter(2));
			expect(onlyState(project)).toMatch(/session-[0-9a-f]{64}\.json$/);
			expect((await open(project, id).load()).state).toEqual(stateAfter(2));
		},
	);
});

describe("a damaged file is a fresh start and one warning", () => {
	async function afterDamage(damage: (path: string) => void) {
		const project = tempDir();
		await open(project).save(stateAfter(3));
		const path = onlyState(project);
		damage(path);
		const loaded = await open(project).load();
		expect(loaded.origin).toBe("fresh");
		expect(loaded.state).toBeUndefined();
		// The session goes on, and its next state is good again.
		expect(await open(project).save(stateAfter(1))).toBeUndefined();
		expect((await open(project).load()).state).toEqual(stateAfter(1));
		return loaded.warning?.replace(path, "FILE");
	}

	test("when it is cut off", async () => {
		expect(await afterDamage((path) => truncateSync(path, 20))).toBe(
			"FILE is not valid JSON; the tiers start empty",
		);
	});

	test("when it is empty", async () => {
		expect(await afterDamage((path) => writeFileSync(path, ""))).toContain("is not valid JSON");
	});

	test("when it holds bytes that are no text", async () => {
		const bytes = Buffer.from([0x22, 0xff, 0xfe, 0x22]);
		expect(await afterDamage((path) => writeFileSync(path, bytes))).toContain("is not valid JSON");
	});

	test("when it holds something else", async () => {
		expect(await afterDamage((path) => writeFileSync(path, "[]"))).toContain(
			"is not a JSON object",
		);
		expect(await afterDamage((path) => writeFileSync(path, '{"items":{}}'))).toBe(
			"FILE cannot be used (The tier state is damaged: response_count must be a whole number ≥ 0); the tiers start empty",
		);
	});

	test("when it is far too big", async () => {
		expect(await afterDamage((path) => truncateSync(path, 17 * 1024 * 1024))).toContain(
			"is larger than",
		);
	});

	test.skipIf(process.platform === "win32")("when it is a link or a pipe", async () => {
		const elsewhere = join(tempDir(), "elsewhere.json");
		writeFileSync(elsewhere, JSON.stringify(stateAfter(9)));
		const replace = (make: (path: string) => void) => (path: string) => {
			execFileSync("rm", [path]);
			make(path);
		};
		expect(await afterDamage(replace((path) => symlinkSync(elsewhere, path)))).toContain(
			"is not a regular file",
		);
		expect(await afterDamage(replace((path) => execFileSync("mkfifo", [path])))).toContain(
			"is not a regular file",
		);
		expect(JSON.parse(readFileSync(elsewhere, "utf8"))).toEqual(stateAfter(9));
	});

	test("a folder of a newer version, or of somebody else, is left alone", async () => {
		const project = tempDir();
		const folder = tierStateFolder(project);
		mkdirSync(folder, { recursive: true });
		writeFileSync(join(folder, "version.json"), '{"store":"tiers","version":2}');
		expect((await open(project).load()).warning).toContain("has version 2");
		expect(await open(project).save(stateAfter(1))).toContain("could not be saved");
		expect(readdirSync(folder)).toEqual(["version.json"]);
	});

	test("a disk that cannot be written to is told of once", async () => {
		const project = tempDir();
		writeFileSync(join(project, ".pi"), "a file where the folder should be");
		const file = open(project);
		expect(await file.load()).toEqual({ origin: "fresh" });
		expect(await file.save(stateAfter(1))).toContain("The tier state could not be saved");
		expect(await file.save(stateAfter(2))).toBeUndefined();
		await file.sweep();
	});
});

describe("an existing .aicoder/stability.json", () => {
	const theirs = {
		response_count: 12,
		last_active_items: ["b.ts"],
		items: {
			"a.ts": { content_hash: "v1", n_value: 17, tier: "L2" },
			"b.ts": { content_hash: "v1", n_value: 1, tier: "active" },
		},
	};

	function projectWith(content: string): string {
		const project = tempDir();
		mkdirSync(join(project, ".aicoder"));
		writeFileSync(join(project, ".aicoder", "stability.json"), content);
		return project;
	}

	test("is imported when the session has no state", async () => {
		const project = projectWith(JSON.stringify(theirs));
		expect(await open(project).load()).toEqual({
			origin: "import",
			state: {
				response_count: 12,
				last_active_items: ["b.ts"],
				items: {
					"a.ts": { content_hash: "v1", n_value: 8, tier: "L2", tokens: 0 },
					"b.ts": { content_hash: "v1", n_value: 1, tier: "active", tokens: 0 },
				},
			},
		});
	});

	test("gives way to the session's own state, and is never written to", async () => {
		const project = projectWith(JSON.stringify(theirs));
		await open(project).save(stateAfter(2));
		expect(await open(project).load()).toEqual({ origin: "session", state: stateAfter(2) });
		expect(readFileSync(join(project, ".aicoder", "stability.json"), "utf8")).toBe(
			JSON.stringify(theirs),
		);
	});

	test("that is damaged is a fresh start and one warning", async () => {
		const loaded = await open(projectWith("{ not json")).load();
		expect(loaded.origin).toBe("fresh");
		expect(loaded.warning).toContain("stability.json is not valid JSON");
	});
});

describe("sweeping", () => {
	async function projectWithStates(ages: Record<string, number>) {
		const project = tempDir();
		const now = Date.now();
		for (const [id, days] of Object.entries(ages)) {
			await open(project, id).save(stateAfter(1));
			const seconds = (now - days * DAY_MS) / 1000;
			utimesSync(join(tierStateFolder(project), `session-${id}.json`), seconds, seconds);
		}
		return project;
	}

	function sessionsOf(project: string): string[] {
		return readdirSync(tierStateFolder(project))
			.flatMap((name) => /^session-(.*)\.json$/.exec(name)?.[1] ?? [])
			.toSorted();
	}

	test("removes states that nobody has used for 30 days, but not the session's own", async () => {
		const project = await projectWithStates({ old: 31, recent: 29, own: 90 });
		await open(project, "own").sweep();
		expect(sessionsOf(project)).toEqual(["own", "recent"]);
	});

	test("keeps the 200 that were used last", { tags: "slow" }, async () => {
		const ages = Object.fromEntries(Array.from({ length: 203 }, (_, i) => [`s${i}`, 1 + i / 100]));
		const project = await projectWithStates(ages);
		await open(project, "own").sweep();
		expect(sessionsOf(project)).toHaveLength(200);
		expect(sessionsOf(project)).not.toContain("s202");
		expect(sessionsOf(project)).toContain("s0");
	});

	test("removes what a crash left behind, and nothing that is not ours", async () => {
		const project = await projectWithStates({ own: 0 });
		const folder = tierStateFolder(project);
		const left = join(folder, "strata-00000000-0000-4000-8000-000000000000.tmp");
		const notes = join(folder, "notes.txt");
		for (const path of [left, notes]) {
			writeFileSync(path, "");
			utimesSync(path, 1000, 1000);
		}
		await open(project, "own").sweep();
		expect(existsSync(left)).toBe(false);
		expect(existsSync(notes)).toBe(true);
	});
});
