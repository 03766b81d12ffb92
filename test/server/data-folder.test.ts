import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { claimDataFolder } from "../../src/server/data-folder.ts";
import { tempDir } from "../support/temp.ts";
import { carryOut } from "./support/carry-out.ts";

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe("the data folder", () => {
	test.each(["umask 0", "umask 0277"])(
		"and all the server puts there are its user's alone, after %s",
		{ tags: "slow" },
		async (shell) => {
			const agentDir = tempDir("agent");
			await carryOut(
				[
					{ type: "create_session", cwd: agentDir },
					{ type: "replay_session", content: "x" },
				],
				{
					agentDir,
					shell,
				},
			);
			const folder = join(agentDir, "strata", "server");
			expect(modeOf(folder)).toBe("700");
			const entries = readdirSync(folder, { withFileTypes: true });
			expect(entries.map(({ name }) => name)).toEqual(
				expect.arrayContaining(["lock.db", "lock.json", "journal.db"]),
			);
			for (const entry of entries) {
				const mode = statSync(join(folder, entry.name)).mode;
				expect(mode & 0o077, entry.name).toBe(0);
			}
		},
	);

	test("that others can write to is refused, and what to do about it is said", async () => {
		const folder = tempDir();
		for (const mode of [0o770, 0o720, 0o702, 0o777]) {
			chmodSync(folder, mode);
			const fault = `other users can write to the data folder ${folder} (mode 0${mode.toString(8)}); run: chmod go-w ${folder}`;
			await expect(claimDataFolder(folder)).rejects.toThrow(fault);
		}
		for (const mode of [0o755, 0o700]) {
			chmodSync(folder, mode);
			await claimDataFolder(folder);
		}
	});

	test.each(["journal.db", "journal.db-wal", "journal.db-shm", "lock.db", "lock.json"])(
		"with a %s that others can write to is refused; one they can read is closed to them",
		async (name) => {
			const folder = tempDir();
			const path = join(folder, name);
			writeFileSync(path, "");
			chmodSync(path, 0o660);
			await expect(claimDataFolder(folder)).rejects.toThrow(`chmod go-w ${path}`);
			chmodSync(path, 0o644);
			await claimDataFolder(folder);
			expect(modeOf(path)).toBe("600");
		},
	);

	test("below a folder that is open to all is refused, unless only owners can move what is in that", async () => {
		const parent = tempDir();
		const folder = join(parent, "deep", "data");
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		chmodSync(parent, 0o777);
		await expect(claimDataFolder(folder)).rejects.toThrow(`chmod o-w ${parent}`);
		chmodSync(parent, 0o1777);
		await claimDataFolder(folder);
	});

	test("of another user is refused", async () => {
		const folder = tempDir();
		const self = process.getuid?.();
		const getuid = process.getuid;
		// Only root can give a folder away, so anyone else takes another name.
		if (self === 0) chownSync(folder, 12_345, 12_345);
		else process.getuid = () => 12_345;
		try {
			await expect(claimDataFolder(folder)).rejects.toThrow(`${folder} belongs to another user`);
		} finally {
			if (getuid) process.getuid = getuid;
		}
	});
});
