import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeServerAddress } from "../../src/core/server-address.ts";
import { lockDataFolder } from "../../src/server/data-folder.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const LOCK = new URL("../../src/server/data-folder.ts", import.meta.url).href;

describe("the lock of a data folder", () => {
	test("is held by one server at a time, and free again when that is done", async () => {
		const folder = tempDir();
		const lock = await lockDataFolder(folder);
		await expect(lockDataFolder(folder)).rejects.toThrow(`(process ${process.pid}) uses ${folder}`);
		lock.release();
		(await lockDataFolder(folder)).release();
	});

	test("tells a second server where the first one listens", async () => {
		const folder = tempDir();
		const lock = await lockDataFolder(folder);
		const url = "http://127.0.0.1:3141/";
		await writeServerAddress(folder, { pid: process.pid, url });
		await expect(lockDataFolder(folder)).rejects.toThrow("and listens on http://127.0.0.1:3141/;");
		lock.release();
	});

	test("cannot be had on a file, or where nothing can be written, which is said in one line", async () => {
		const file = join(tempDir(), "file");
		writeFileSync(file, "");
		const onFile = `cannot use ${file} as the data folder: it is a file; choose another`;
		await expect(lockDataFolder(file)).rejects.toThrow(onFile);
		const folder = tempDir();
		mkdirSync(join(folder, "lock.db"));
		await expect(lockDataFolder(folder)).rejects.toThrow(/^cannot write .*choose another folder/);
	});

	test("of another process names that process, and is not held by one that was killed", async () => {
		const folder = tempDir();
		const script = `const { lockDataFolder } = await import(${JSON.stringify(LOCK)}); await lockDataFolder(${JSON.stringify(folder)}); console.log("held"); setInterval(() => {}, 1000)`;
		const child = spawn(process.execPath, ["--input-type=module", "-e", script]);
		atEnd(() => child.kill("SIGKILL"));
		await new Promise((resolve) => child.stdout.once("data", resolve));
		await expect(lockDataFolder(folder)).rejects.toThrow(`(process ${child.pid}) uses ${folder}`);
		child.kill("SIGKILL");
		await new Promise((resolve) => child.on("exit", resolve));
		(await lockDataFolder(folder)).release();
	});
});
