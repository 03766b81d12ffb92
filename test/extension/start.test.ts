import { expect, test } from "vitest";
import { createCodeSession } from "../../src/code/code-session.ts";
import { showStart } from "../../src/extension/commands.ts";
import { startAll } from "../../src/session/session.ts";
import { fakeSession } from "../support/fake-host.ts";

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
		fakeSession().view(),
		"startup",
	);
	expect(failures).toEqual([
		"first could not be started: no disk",
		"second could not be started: at once",
	]);
	expect(started).toEqual(["first", "second", "third"]);
});

test("code questions that could not be opened once are opened by the next question", async () => {
	const session = fakeSession().view();
	let calls = 0;
	const failing = Object.create(session, {
		config: {
			get() {
				if (++calls === 1) throw new Error("no settings");
				return session.config;
			},
		},
	});
	const kota = createCodeSession();
	await expect(kota.open(failing)).rejects.toThrow("no settings");
	expect((await kota.open(failing)).project.state).toBe("stopped");
	await kota.close();
});

test("the footer has one word at the start, also if a system is an object of a class", () => {
	class Toy {
		readonly name = "toy";
		private readonly why = "always";
		status() {
			return { on: true, why: this.why };
		}
	}
	const shown: unknown[] = [];
	const ui = { setStatus: (...status: unknown[]) => shown.push(status), notify: () => {} };
	const { view } = fakeSession({ ui: ui as never });
	showStart([new Toy(), { name: "unlisted" }], view(), []);
	expect(shown).toEqual([["strata", "strata"]]);
});
