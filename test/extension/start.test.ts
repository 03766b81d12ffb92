import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { expect, test } from "vitest";
import { startAll } from "../../src/extension/system.ts";

test("a system that fails to start does not keep the later ones off", async () => {
	const started: string[] = [];
	const system = (name: string, start: () => void | Promise<void>) => ({
		name,
		status: () => ({ on: true, why: "" }),
		start() {
			started.push(name);
			return start();
		},
	});
	const failures = await startAll(
		[
			system("first", () => Promise.reject(new Error("no disk"))),
			system("second", () => {
				throw new Error("at once");
			}),
			system("third", () => undefined),
		],
		{ ctx: {} as ExtensionContext, reason: "startup" },
	);
	expect(failures).toEqual([
		"first could not be started: no disk",
		"second could not be started: at once",
	]);
	expect(started).toEqual(["first", "second", "third"]);
});
