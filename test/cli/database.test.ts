import { execFile } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { describe, expect, test, vi } from "vitest";
import { checkDatabase } from "../../src/server/journal/postgres/database-checks.ts";
import {
	databaseFrom,
	hasPassword,
	parseDatabaseUrl,
} from "../../src/server/journal/postgres/database-url.ts";
import { migrate as migrateSchema } from "../../src/server/journal/postgres/schema.ts";
import { startServe } from "../server/support/serve-process.ts";
import { connectWire } from "../server/support/wire-client.ts";
import { connectClient } from "../server/support/ws-client.ts";
import { PATIENCE } from "../support/patience.ts";
import {
	postgresPrograms,
	sharedPostgres,
	startPostgres,
	withPostgres,
} from "../support/postgres.ts";
import { selfSigned } from "../support/self-signed.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const MAIN = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));

/** A process with this environment says when it loads `pg`. */
const NOTING_PG = {
	NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(
		`import { registerHooks } from "node:module";
		registerHooks({ resolve(name, context, next) {
			if (name === "pg") process.stderr.write("pg was loaded");
			return next(name, context);
		} });`,
	)}`,
};

/** Runs `strata` and returns what it printed, also if it failed. */
async function strata(words: string[], env: NodeJS.ProcessEnv = {}) {
	const given = { env: { ...process.env, PI_CODING_AGENT_DIR: tempDir(), ...env } };
	const run = promisify(execFile)(process.execPath, [MAIN, ...words], given);
	const {
		stdout,
		stderr,
		code = 0,
	} = (await run.catch((error: { stdout: string; stderr: string; code: number }) => error)) as {
		stdout: string;
		stderr: string;
		code?: number;
	};
	return { stdout, stderr, code };
}

describe("the address of a database", () => {
	test("comes from the flag or the environment, and leaves no password behind", () => {
		const env: NodeJS.ProcessEnv = { STRATA_DATABASE: "postgres://u:pw@h/d", PGPASSWORD: "other" };
		expect(databaseFrom(undefined, env)).toMatchObject({ description: "h/d" });
		expect(env).toEqual({ PGPASSWORD: "other" });
		expect(databaseFrom("postgres://u@h:5/d", env)).toMatchObject({
			description: "h:5/d",
			password: "other",
		});
		expect(env).toEqual({});
		expect(databaseFrom(undefined, {})).toBeUndefined();
		expect(parseDatabaseUrl("postgresql://u@/d?host=/run/pg").description).toBe("/run/pg/d");
	});

	test("is refused with a password in the flag, or in another form, without being repeated", () => {
		for (const text of ["postgres://u:secret@h/d", "postgres://u@h/d?password=secret"]) {
			expect(hasPassword(text)).toBe(true);
			expect(() => databaseFrom(text, {})).toThrow(/STRATA_DATABASE or PGPASSWORD/);
		}
		for (const text of ["mysql://u:secret@h/d", "secret", "postgres://u:secret@[/d"]) {
			expect(() => parseDatabaseUrl(text)).toThrow(/^the database's address must look like \S+$/);
		}
	});
});

describe("strata without a database", { tags: "slow" }, () => {
	test("names what is missing, and shows no password", async () => {
		const none = await strata(["tokens", "list"]);
		expect(none).toMatchObject({ code: 2, stdout: "" });
		expect(none.stderr).toContain("--database postgres://");
		const away = await strata(["doctor"], {
			STRATA_DATABASE: "postgres://user:secret-word@127.0.0.1:1/name",
		});
		expect(away.code).toBe(1);
		expect(away.stdout).toMatch(
			/FAIL {2}database +127\.0\.0\.1:1\/name: the database cannot be reached/,
		);
		const serve = await strata(["serve", "--port", "0", "--no-dashboard"], {
			STRATA_DATABASE: "postgres://user:secret-word@127.0.0.1:1/name",
		});
		expect(serve.code).toBe(1);
		expect(serve.stderr).toContain("cannot use the database 127.0.0.1:1/name");
		const list = await strata(["tokens", "list"], {
			STRATA_DATABASE: "postgres://user:secret-word@127.0.0.1:1/name",
		});
		expect(list.code).toBe(1);
		expect(list.stderr).toBe(
			"strata tokens: cannot use the database 127.0.0.1:1/name: the database cannot be reached (ECONNREFUSED)\n",
		);
		const authority = await strata(["tokens", "list"], {
			STRATA_DATABASE: "postgres://user:secret-word@127.0.0.1:1/name?sslrootcert=/no/ca.pem",
		});
		expect(authority.stderr).toContain("the file /no/ca.pem cannot be read (ENOENT)");
		const folder = tempDir();
		const journal = await strata(["journal", "migrate", "--data-dir", folder], {
			STRATA_DATABASE: "postgres://user:secret-word@127.0.0.1:1/name",
		});
		expect(journal.stderr).toContain(`there is no journal.db in ${folder}`);
		expect(readdirSync(folder)).toEqual([]);
		const flag = await strata(["serve", "--database", "postgres://user:secret-word@h/name"]);
		expect(flag.code).toBe(2);
		const all = [none, away, serve, list, authority, journal, flag]
			.map(({ stdout, stderr }) => stdout + stderr)
			.join("");
		expect(all).not.toContain("secret-word");
	});

	test("never loads the client of the database", async () => {
		const server = startServe(["--port", "0", "--auth", "none", "--json"], { env: NOTING_PG });
		await server.ready();
		server.child.kill("SIGTERM");
		await server.exited;
		expect(server.err()).not.toContain("pg was loaded");
	});
});

describe.runIf(postgresPrograms)(withPostgres("strata with a database"), { tags: "slow" }, () => {
	test("tokens are added, listed and revoked, on every server within five seconds", async () => {
		const url = await (await sharedPostgres()).database();
		const add = await strata(["tokens", "add", "ann", "--database", url]);
		const token = add.stdout.trim();
		expect(token).toMatch(/^[\w-]{43}$/);
		const list = await strata(["tokens", "list", "--json", "--database", url]);
		expect(JSON.parse(list.stdout)).toMatchObject([{ name: "ann" }]);
		expect(list.stdout).not.toContain(token);
		const server = startServe(["--port", "0", "--json", "--database", url]);
		const { port } = await server.ready();
		const address = `ws://127.0.0.1:${port}`;
		const client = await connectClient(address, { token });
		const later = (await strata(["tokens", "add", "bob", "--database", url])).stdout.trim();
		await vi.waitFor(() => connectClient(address, { token: later }), PATIENCE);
		const revoke = await strata(["tokens", "revoke", "ann", "--database", url]);
		expect(revoke).toMatchObject({ code: 0, stdout: "1 token revoked\n" });
		expect(await client.closed).toMatchObject({ reason: "the token was revoked" });
		await expect(connectClient(address, { token })).rejects.toThrow("401");
		expect((await strata(["tokens", "revoke", "nobody", "--database", url])).code).toBe(1);
		expect((await strata(["tokens", "add", "a b", "--database", url])).stderr).toContain(
			'got "a b"',
		);
	});

	test("with TLS and a password shows its certificate, and nobody shows the password", async () => {
		const tls = selfSigned();
		const postgres = await startPostgres({ tls });
		atEnd(() => postgres.stop());
		const client = new pg.Client({ connectionString: await postgres.database() });
		client.on("error", () => {});
		await client.connect();
		await client.query("ALTER USER strata PASSWORD 'secret-word'");
		const folder = tempDir();
		mkdirSync(folder, { recursive: true });
		const ca = join(folder, "ca.pem");
		writeFileSync(ca, tls.cert);
		const other = join(folder, "other.pem");
		writeFileSync(other, selfSigned().cert);
		const address = (password: string, options: string) =>
			`postgres://strata:${password}@localhost:${postgres.port}/${client.database}?${options}`;
		const verified = (file: string) =>
			`sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`;
		const server = startServe(["--port", "0", "--auth", "none", "--json"], {
			env: { STRATA_DATABASE: address("secret-word", verified(ca)) },
		});
		await server.ready();
		const { rows } = await client.query(
			`SELECT bool_and(ssl) AS ssl, count(*) AS count FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
				WHERE application_name LIKE 'strata %'`,
		);
		expect(rows[0]).toMatchObject({ ssl: true });
		expect(Number(rows[0].count)).toBeGreaterThan(0);
		const outputs = [server.out() + server.err()];
		for (const [password, options, note] of [
			["secret-word", verified(ca), "/test_"],
			["secret-word", verified(other), "does not show a certificate that this server trusts"],
			["wrong-secret-word", verified(ca), "refuses this server's user"],
			["secret-word", "sslmode=disable", "refuses this server's user"],
		] as const) {
			const findings = await checkDatabase(parseDatabaseUrl(address(password, options)));
			expect(findings.find(({ name }) => name === "database")?.note).toContain(note);
			outputs.push(JSON.stringify(findings));
		}
		const env = { STRATA_DATABASE: address("wrong-secret-word", verified(ca)) };
		for (const words of [
			["doctor"],
			["tokens", "list"],
			["serve", "--port", "0", "--no-dashboard"],
		]) {
			const { stdout, stderr, code } = await strata(words, env);
			expect(code).toBe(1);
			outputs.push(stdout + stderr);
		}
		expect(outputs.join("\n")).not.toContain("secret-word");
	});

	test("doctor looks at version, settings, schema, clock and standby", async () => {
		const url = await (await sharedPostgres()).database();
		const { stdout, code } = await strata(["doctor", "--json"], { STRATA_DATABASE: url });
		const found = new Map(
			(JSON.parse(stdout).findings as { name: string; ok: boolean; note: string }[]).map((one) => [
				one.name,
				one,
			]),
		);
		expect(found.get("database")).toMatchObject({ ok: true });
		expect(found.get("PostgreSQL")).toMatchObject({ ok: true });
		// The tests' own Postgres runs without it.
		expect(found.get("fsync")).toMatchObject({ ok: false, note: expect.stringContaining("off") });
		expect(found.get("synchronous_commit")).toMatchObject({ ok: true });
		expect(found.get("schema")?.note).toBe("none yet; the server creates it");
		expect(found.get("standby")?.note).toContain("no synchronous standby");
		expect(found.get("clock")).toMatchObject({ ok: true });
		expect(code).toBe(1);
	});

	test("doctor says which settings and what missing statistics would cost", async () => {
		const postgres = await startPostgres({
			settings: ["full_page_writes=off", "synchronous_commit=off", "autovacuum=off"],
		});
		atEnd(() => postgres.stop());
		const url = await postgres.database();
		const client = new pg.Client({ connectionString: url });
		await client.connect();
		await migrateSchema(client);
		await client.query(`INSERT INTO strata.owners (conversation, principal)
			SELECT n::text, 'ann' FROM generate_series(1, 20000) AS n`);
		await client.end(); // which reports what it has written
		await vi.waitFor(async () => {
			const findings = await checkDatabase(parseDatabaseUrl(url));
			const found = new Map(findings.map((one) => [one.name, one]));
			expect(found.get("full_page_writes")).toMatchObject({ ok: false, required: true });
			expect(found.get("synchronous_commit")).toMatchObject({ ok: false, required: false });
			expect(found.get("schema")).toMatchObject({
				ok: true,
				note: expect.stringMatching(/^version \d+$/),
			});
			expect(found.get("statistics")).toMatchObject({
				ok: false,
				note: "missing for owners: run ANALYZE, and turn autovacuum on",
			});
		}, PATIENCE);
	});

	test("journal migrate takes sessions, outcomes, events and conversations along", async () => {
		const url = await (await sharedPostgres()).database();
		const agentDir = tempDir();
		const words = ["--port", "0", "--auth", "none", "--json"];
		const before = startServe(words, { agentDir });
		const first = await connectWire(`ws://127.0.0.1:${(await before.ready()).port}`);
		await first.ask({ type: "create_session", sessionId: "s", cwd: tempDir() });
		const change = { type: "bash", id: "once", sessionId: "s", command: "echo migrated-word" };
		const changed = await first.ask(change);
		const { seq } = (await first.ask({ type: "subscribe", sessionId: "s" })).data as never;
		const { data: state } = await first.ask({ type: "get_state", sessionId: "s" });
		const env = { PI_CODING_AGENT_DIR: agentDir };
		const running = await strata(["journal", "migrate", "--database", url], env);
		expect(running).toMatchObject({ code: 1, stdout: "" });
		expect(running.stderr).toContain(agentDir);
		before.child.kill("SIGTERM");
		await before.exited;
		const { sessionFile = "" } = state as { sessionFile?: string };
		// As a power cut may leave it. Pi skips the line.
		appendFileSync(sessionFile, "\u0000\u0000 no entry\n");
		const client = new pg.Client({ connectionString: url });
		await client.connect();
		atEnd(() => client.end());
		const occupied = "strata.heads (principal, session, home, epoch, claim)";
		await migrateSchema(client);
		await client.query(`INSERT INTO ${occupied} VALUES ('ann', 'x', 'h', 1, gen_random_uuid())`);
		const refused = await strata(["journal", "migrate", "--database", url], env);
		expect(refused.stderr).toContain("the database already has sessions or commands");
		await client.query("DELETE FROM strata.heads");
		const copied = await strata(["journal", "migrate", "--database", url], env);
		expect(copied.stderr).toBe("");
		expect(copied.stdout).toMatch(
			/^copied 1 session, \d+ commands?, \d+ events? and 1 conversation to /,
		);
		const again = await strata(["journal", "migrate", "--database", url], env);
		expect(again.stderr).toContain("the database already has sessions or commands");
		const after = startServe([...words, "--database", url], { agentDir });
		const second = await connectWire(`ws://127.0.0.1:${(await after.ready()).port}`);
		expect(await second.ask(change)).toEqual({ ...changed, replayed: true });
		const { data } = await second.ask({ type: "get_entries", sessionId: "s" });
		expect(JSON.stringify(data)).toContain("migrated-word");
		const joined = (await second.ask({ type: "subscribe", sessionId: "s" })).data as never;
		expect((joined as { seq: number }).seq).toBeGreaterThanOrEqual(seq);
	});

	test("the password is in no command line, no output and no tool", async () => {
		const url = await (await sharedPostgres()).database();
		const secret = url.replace("strata@", "strata:secret-word@");
		const server = startServe(["--port", "0", "--auth", "none", "--json"], {
			env: { STRATA_DATABASE: secret, ...NOTING_PG },
		});
		const { pid, port } = await server.ready();
		expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain("secret-word");
		const client = await connectWire(`ws://127.0.0.1:${port}`);
		await client.ask({ type: "create_session", sessionId: "s", cwd: tempDir() });
		const shown = await client.ask({ type: "bash", sessionId: "s", command: "env" });
		expect(JSON.stringify(shown)).not.toContain("secret-word");
		expect(server.out() + server.err()).not.toContain("secret-word");
		expect(server.err()).toContain("pg was loaded");
	});
});
