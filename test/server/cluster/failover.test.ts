// @module-tag slow
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { PATIENCE, PATIENCE_MS } from "../../support/patience.ts";
import { postgresPrograms, sharedPostgres, withPostgres } from "../../support/postgres.ts";

const FILE = fileURLToPath(new URL("../../../examples/failover.ts", import.meta.url));

describe("examples/failover.ts", () => {
	test.runIf(postgresPrograms)(
		withPostgres("goes on with another server after the owner was killed, without a hole"),
		async () => {
			const database = await (await sharedPostgres()).database();
			const { stdout } = await run({ STRATA_DATABASE: database });
			const printed = stdout.trimEnd().split("\n");
			const [first = "", killed = "", ended, next = "", version, events] = printed;
			const addresses = first.match(/ws:\/\/127\.0\.0\.1:\d+\//g) ?? [];
			expect(new Set(addresses).size).toBe(3);
			const [owner = "none"] = killed.split(" ");
			expect(addresses).toContain(owner);
			expect(ended).toBe("the command ended: interrupted");
			expect(addresses).toContain(next.split(" ")[0]);
			expect(next).not.toContain(owner);
			expect(next).toContain("its name is before");
			expect(version).toBe("version 3; the conversation is whole");
			expect(events).toMatch(/^[1-9]\d* events, 0 holes$/);
			expect(printed).toHaveLength(6);
		},
	);

	test(
		"says how it is used without a database",
		async () => {
			await expect(run({ STRATA_DATABASE: "" })).rejects.toMatchObject({
				code: 2,
				stderr: expect.stringContaining("usage: STRATA_DATABASE="),
			});
		},
		PATIENCE_MS,
	);

	function run(env: NodeJS.ProcessEnv) {
		return promisify(execFile)(process.execPath, [FILE], {
			...PATIENCE,
			env: { ...process.env, PI_OFFLINE: "1", ...env },
		});
	}
});
