import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BirthSystem } from "../../src/birth/system.ts";
import { isCacheAnswer, touchesExcluded } from "../../src/readcache/index.ts";
import { appendCalls, appendResult, newSession } from "../session/sessions.ts";
import { fakeSession } from "../support/fake-host.ts";
import { tempDir } from "../support/temp.ts";
import { output } from "./results.ts";

const TEXT = output(40).join("\n");

/** A session in which the model has seen a text and has asked for it again. */
async function start(settings: Record<string, unknown>, tokens?: number) {
	const sessionManager = newSession();
	const fake = fakeSession({
		...(tokens !== undefined && {
			getContextUsage: () => ({ tokens, contextWindow: 200_000, percent: null }),
		}),
		sessionManager: {
			getSessionId: () => sessionManager.getSessionId(),
			getLeafId: () => sessionManager.getLeafId(),
			getEntry: (id: string) => sessionManager.getEntry(id),
			getBranch: () => sessionManager.getBranch(),
			buildSessionProjection: () => sessionManager.buildSessionProjection(),
		},
	});
	const blobs = { dir: join(tempDir(), "blobs") };
	const all = { blobs, ...settings };
	writeFileSync(join(fake.host.agentDir, "strata.json"), JSON.stringify(all));
	const birth = new BirthSystem({ isCacheAnswer, touchesExcluded });
	await fake.run([birth]);
	appendCalls(sessionManager, { id: "a", args: { path: "a.ts" } });
	appendResult(sessionManager, "a", TEXT);
	await fake.emit("context_with_system", {
		messages: sessionManager.buildSessionProjection().messages,
	});
	appendCalls(sessionManager, { id: "b", tool: "show" });
	const content = [{ type: "text", text: TEXT }];
	const event = { toolCallId: "b", toolName: "show", input: {}, content, isError: false };
	const results = await fake.emit("tool_result", event);
	return { birth, view: fake.view(), changed: results.find((one) => one !== undefined) };
}

test("on, a result is changed before pi stores it", async () => {
	const { birth, view, changed } = await start({});
	expect(birth.status(view).on).toBe(true);
	expect(changed).toMatchObject({
		content: [{ type: "text", text: expect.stringMatching(/^\[strata: lines 1-40 of/) }],
		details: { birth: { v: 1 } },
	});
	expect(await birth.savings(view)).toEqual([]); // the result is not in the session yet
});

test("off, no result is changed, and the user sees why", async () => {
	const { birth, view, changed } = await start({ birth: { mode: "off" } });
	expect(changed).toBeUndefined();
	expect(birth.status(view)).toEqual({ on: false, why: "birth.mode is off" });
});

test("shadow changes nothing and shows what would have been saved", async () => {
	const { birth, view, changed } = await start({ birth: { mode: "shadow" } });
	expect(changed).toBeUndefined();
	expect(birth.status(view)).toMatchObject({ on: true, why: expect.stringMatching(/^shadow/) });
	expect(await birth.savings(view)).toEqual([
		expect.stringMatching(
			/^at birth, shadow: 1 result would have been shorter by [\d,]+ characters/,
		),
	]);
});

test("without a store for exact texts it is off", async () => {
	const { birth, view, changed } = await start({ blobs: { enabled: false } });
	expect(changed).toBeUndefined();
	expect(birth.status(view)).toEqual({ on: false, why: "blobs.enabled is false" });
	expect(await birth.savings(view)).toEqual([expect.stringContaining("stayed as it was")]);
});

test("results stay as they are until the prompt is long enough to be cached without them", async () => {
	expect((await start({}, 4095)).changed).toBeUndefined();
	expect((await start({}, 4096)).changed).toBeDefined();
});
