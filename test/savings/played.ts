import type { Answer } from "../proxy/harness.ts";
import type { StandIn } from "../support/stand-in/stand-in.ts";
import { bodyOf, code, read, type Turn } from "./talks.ts";

export const START: Turn = { user: "What does a.ts do?" };

/** The same file again and again. */
export const reads = (from: number, count: number): Turn[] =>
	Array.from({ length: count }, (_, at) => read(`call_${from + at}`, "a.ts", code("a", 60)));

export interface PlayedTo {
	readonly standIn: StandIn;
	post(body: Buffer): Promise<Pick<Answer, "status" | "body">>;
}

/** An agent whose model thinks before each call, on a model that binds its thinking. */
export async function play(to: PlayedTo, turns: readonly Turn[], done: Turn[] = []) {
	const statuses: number[] = [];
	for (const turn of turns) {
		const isCall = "id" in turn;
		to.standIn.script([{ say: "Go on." }]);
		const more = { thinking: { type: "enabled" }, tools: [{ name: "Bash" }] };
		const answer = await to.post(bodyOf("anthropic", done, more));
		statuses.push(answer.status);
		if (answer.status !== 200) throw new Error(String(answer.body));
		const { content } = JSON.parse(String(answer.body));
		const thinking = content[0].signature as string;
		done.push(isCall || "answer" in turn ? { ...turn, thinking } : turn);
	}
	return { done, statuses };
}

export function promptTokens({ requests }: Pick<StandIn, "requests">): number {
	return requests.reduce((sum, { usage }) => {
		return sum + (usage ? usage.input + usage.read + usage.write : 0);
	}, 0);
}
