import { describe, expect, test } from "vitest";
import { createCommandList } from "../../src/dashboard/session/open-session.ts";
import type { Data } from "../../src/protocol/index.ts";

const command = (name: string): Data<"SlashCommand"> => ({ name, source: "extension" });

/** A list whose questions a test answers, one at a time. */
function asked() {
	const questions: PromiseWithResolvers<Data<"SlashCommand">[]>[] = [];
	const list = createCommandList(() => {
		const question = Promise.withResolvers<Data<"SlashCommand">[]>();
		questions.push(question);
		return question.promise;
	});
	return { list, questions };
}

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

describe("the commands of a session", () => {
	test("are asked for when one is wanted, and not again while that holds", async () => {
		const { list, questions } = asked();
		expect(questions).toHaveLength(0);
		list.ensure();
		list.ensure();
		expect(questions).toHaveLength(1);
		expect(list.commands.value).toBeUndefined();
		questions[0]?.resolve([command("a")]);
		await nextTick();
		list.ensure();
		expect(questions).toHaveLength(1);
		expect(list.commands.value).toEqual([command("a")]);
	});

	test("are asked for again once they may be others, and the old ones stay meanwhile", async () => {
		const { list, questions } = asked();
		list.ensure();
		questions[0]?.resolve([command("a")]);
		await nextTick();
		list.invalidate();
		expect(questions).toHaveLength(1);
		list.ensure();
		expect(questions).toHaveLength(2);
		expect(list.commands.value).toEqual([command("a")]);
		questions[1]?.resolve([command("b")]);
		await nextTick();
		expect(list.commands.value).toEqual([command("b")]);
	});

	test("that change while they are asked for are asked for once more", async () => {
		const { list, questions } = asked();
		list.ensure();
		list.invalidate();
		questions[0]?.resolve([command("a")]);
		await nextTick();
		expect(questions).toHaveLength(2);
		questions[1]?.resolve([command("b")]);
		await nextTick();
		expect(list.commands.value).toEqual([command("b")]);
		expect(questions).toHaveLength(2);
	});

	test("that could not be had are asked for by the next who wants one, not in a loop", async () => {
		const { list, questions } = asked();
		list.ensure();
		questions[0]?.reject(new Error("no"));
		await nextTick();
		expect(questions).toHaveLength(1);
		list.ensure();
		expect(questions).toHaveLength(2);
	});
});
