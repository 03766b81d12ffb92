/** What excluded files hold is in no store of ours, whichever way it came into the session. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, expect, test, vi } from "vitest";
import { someText, startPruning } from "../support/pruning-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

beforeEach(() => {
	vi.stubEnv("XDG_CACHE_HOME", tempDir());
	vi.stubEnv("SHOP_API_TOKEN", "value-of-the-environment");
	atEnd(() => vi.unstubAllEnvs());
	vi.useFakeTimers({ toFake: ["Date"] });
	atEnd(() => vi.useRealTimers());
});

const LONG = "for i in $(seq 400); do echo line $i; done";

/** Commands that show a value without naming the file it stands in. */
const COMMANDS = {
	cat: `cat .env; ${LONG}`,
	glob: `cat .e*v; ${LONG}`,
	script: `sh print.sh; ${LONG}`,
	search: `grep -r . --include '*' config | cut -c1-60; ${LONG}`,
	printenv: `printenv; ${LONG}`,
	harmless: LONG,
};

/** Every file below a folder, as one text. */
function allIn(folder: string): string {
	const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
	return paths
		.map((path) => join(folder, path))
		.filter((path) => statSync(path).isFile())
		.map((path) => readFileSync(path, "utf8"))
		.join("\n");
}

test("output that holds a value of an excluded file stays in the context, and reaches no store", {
	tags: "slow",
}, async () => {
	const started = await startPruning();
	const { pi, blobs, blobNames, ask } = started;
	pi.write(".env", "API_KEY=first-secret-value\n");
	pi.write("config/prod.tfvars", 'db_password = "second-secret-value"\n');
	pi.write("print.sh", ". ./.env; echo key: $API_KEY\n");
	pi.write("copy.txt", `${someText(1, 4000)}\nAPI_KEY=first-secret-value\n`);
	const calls = Object.entries(COMMANDS).map(([id, command]) => ({
		tool: "bash",
		args: { command },
		id,
	}));
	pi.write("plain.txt", "nothing secret\n");
	const reads = ["copy", "plain"].map((id) => ({ tool: "read", args: { path: `${id}.txt` }, id }));
	await pi.run("look", [...calls, ...reads, "done"]);
	// A value that was replaced since is a secret still.
	pi.write(".env", "API_KEY=another-value-by-now\n");
	await started.talk();
	await started.talk();
	vi.setSystemTime(Date.now() + 2 * 60 * 60_000);
	await started.talk();

	expect(pi.seenTextOf("harmless")).toMatch(/^\(Pruned\) /);
	expect(blobNames()).toHaveLength(1);
	const shown = ["cat", "glob", "script", "search", "printenv", "copy"];
	for (const id of shown) expect(pi.seenTextOf(id), id).toBe(pi.textOf(id));
	const output = shown.map((id) => pi.textOf(id)).join("\n");
	// Versions are stored in the background.
	await vi.waitFor(() => expect(allIn(join(pi.cwd, ".pi"))).toContain("nothing secret"));
	for (const value of ["first-secret", "second-secret", "value-of-the-environment"]) {
		expect(output).toContain(value);
		expect(allIn(blobs)).not.toContain(value);
		expect(allIn(join(pi.cwd, ".pi"))).not.toContain(value);
	}
	expect(await ask("/kota pruning")).toMatch(
		/not pruned and not stored: 6 results with a value of a file on readcache\.exclude/,
	);
});

test("a value that a command has just written reaches no store", { tags: "slow" }, async () => {
	const { pi } = await startPruning();
	pi.write("plain.txt", "nothing secret\n");
	await pi.run("make one", [
		{ tool: "read", args: { path: "plain.txt" }, id: "plain" },
		{
			tool: "bash",
			args: { command: "echo A=made-just-now > .env; cp .env copy.txt" },
			id: "make",
		},
		{ tool: "read", args: { path: "copy.txt" }, id: "copy" },
		"done",
	]);
	await vi.waitFor(() => expect(allIn(join(pi.cwd, ".pi"))).toContain("nothing secret"));
	await delay(500);
	expect(pi.textOf("copy")).toContain("made-just-now");
	expect(allIn(join(pi.cwd, ".pi"))).not.toContain("made-just-now");
});
