import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { carryOut } from "../server/support/carry-out.ts";
import { startServe } from "../server/support/serve-process.ts";
import { tempDir } from "../support/temp.ts";

describe("a start that fails ends with one line and a status", () => {
	// Below 22 Node itself does not start; from about 40 on the server does.
	const values = Array.from({ length: 11 }, (_, index) => 24 + 2 * index);
	test.each(values)(
		"or serves, where a process may open %i files",
		{ tags: "slow" },
		async (most) => {
			const server = startServe(["--port", "0", "--json"], { shell: `ulimit -n ${most}` });
			const ending = await Promise.race([
				server.exited,
				server.ready().catch(() => server.exited), // it ended before
			]);
			if ("code" in ending) {
				expect(ending.signal).toBeNull();
				expect(ending.code).not.toBe(0);
				expect(server.err()).toMatch(/^strata serve: .+\n$/m);
			}
		},
	);

	test.each<[string, (folder: string) => string[], RegExp]>([
		[
			"a data folder below a file",
			(at) => ["--data-dir", `${file(at, "f", "")}/x`],
			/cannot use .* as the data folder/,
		],
		[
			"a lock that is a folder",
			(at) => ["--data-dir", folder(at, "d", "lock.db")],
			/cannot write .*lock\.db/,
		],
		[
			"tokens that are none",
			(at) => ["--token-file", file(at, "t", "nonsense\n", 0o600)],
			/line 1: the line must have the form name:token/,
		],
		[
			"tokens others can read",
			(at) => ["--token-file", file(at, "t", "", 0o644)],
			/open to other users/,
		],
		[
			"a token file that is a folder",
			(at) => ["--token-file", folder(at, "t")],
			/not a regular file/,
		],
		[
			"a certificate that is none",
			(at) => ["--tls-cert", file(at, "c", "x"), "--tls-key", file(at, "k", "x")],
			/in PEM/,
		],
		[
			"a data folder others can write to",
			(at) => ["--data-dir", open(folder(at, "d"))],
			/other users can write to .*chmod go-w/,
		],
		[
			"a socket whose path is too long",
			(at) => ["--socket", join(at, "s".repeat(120)), "--port", "0"],
			/choose a shorter one/,
		],
	])("with %s", { tags: "slow" }, async (_what, words, fault) => {
		const server = startServe(["--port", "0", ...words(tempDir())]);
		expect(await server.exited).toEqual({ code: 1, signal: null });
		expect(server.err()).toMatch(fault);
		expect(server.err().trimEnd().split("\n")).toHaveLength(1);
	});
});

test("a damaged journal and a full disk do not end the start of a demo, and creating a session says what is wrong", {
	tags: "slow",
}, async () => {
	const agentDir = tempDir("agent");
	const create = [{ type: "create_session" }];
	// With the shell's limit on the size of files, and a handler for its signal, each write fails as on a full disk.
	const NODE_OPTIONS = "--import=data:text/javascript,process.on('SIGXFSZ',()=>{})";
	// Node writes its compile cache at the end, when that handler is gone.
	const env = { NODE_OPTIONS, NODE_DISABLE_COMPILE_CACHE: "1" };
	const full = await carryOut(create, { agentDir, shell: "ulimit -f 0", env });
	expect(full.answers).toMatchObject([{ success: false, code: "journal_unavailable" }]);

	file(
		join(agentDir, "strata", "server"),
		"journal.db",
		"this is no database, and never was ".repeat(200),
	);
	const damaged = await carryOut(create, { agentDir });
	expect(damaged.answers).toMatchObject([{ success: false, code: "journal_unavailable" }]);
});

function file(at: string, name: string, text: string, mode = 0o600): string {
	const path = join(at, name);
	writeFileSync(path, text, { mode });
	chmodSync(path, mode);
	return path;
}

function folder(...names: string[]): string {
	mkdirSync(join(...names), { recursive: true });
	const [at = "", name = ""] = names;
	return join(at, name);
}

function open(path: string): string {
	chmodSync(path, 0o770);
	return path;
}
