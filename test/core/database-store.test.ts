import { chmodSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabaseStore } from "../../src/core/database-store.ts";
import { tempDir } from "../support/temp.ts";

const store = {
	name: "things",
	file: "things.db",
	migrations: [(database: { exec(sql: string): void }) => database.exec("CREATE TABLE t (a)")],
	besides: "texts",
};
const modeOf = (path: string) => statSync(path).mode & 0o777;

test("a store with a database is created, opened again, and readable by the user only", async () => {
	const folder = join(tempDir(), "store");
	for (const rows of [0, 1]) {
		const opened = await openDatabaseStore({ ...store, folder });
		if (opened.kind !== "open") throw new Error(opened.message);
		expect(opened.database.prepare("SELECT count(*) AS n FROM t").get()).toEqual({ n: rows });
		opened.database.exec("INSERT INTO t VALUES (1)");
		for (const name of readdirSync(folder).filter((entry) => entry.startsWith("things.db"))) {
			expect([name, modeOf(join(folder, name))]).toEqual([name, 0o600]);
		}
		opened.database.close();
	}
	expect(modeOf(folder)).toBe(0o700);
});

test("a database that others could read is closed to them", async () => {
	const folder = join(tempDir(), "store");
	await mkdir(join(folder, "texts"), { recursive: true });
	writeFileSync(join(folder, "things.db"), "");
	chmodSync(join(folder, "things.db"), 0o644);
	const opened = await openDatabaseStore({ ...store, folder });
	if (opened.kind !== "open") throw new Error(opened.message);
	opened.database.close();
	expect(modeOf(join(folder, "things.db"))).toBe(0o600);
});

test("a folder with other files is left alone, and a folder in the database's place is an answer", async () => {
	const folder = join(tempDir(), "store");
	await mkdir(join(folder, "photos"), { recursive: true });
	const foreign = await openDatabaseStore({ ...store, folder });
	expect(foreign).toMatchObject({
		kind: "unavailable",
		message: expect.stringContaining("photos"),
	});
	expect(readdirSync(folder)).toEqual(["photos"]);

	const taken = join(tempDir(), "store");
	await mkdir(join(taken, "things.db"), { recursive: true });
	expect(await openDatabaseStore({ ...store, folder: taken })).toMatchObject({
		kind: "unavailable",
		message: expect.stringContaining("things.db"),
	});
});
