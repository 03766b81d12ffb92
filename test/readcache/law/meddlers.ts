/** Other extensions: they change results before they are stored, and requests before they are sent. */
import type { Slot } from "./oracle.ts";
import type { Random } from "./random.ts";

/** A tool result on its way into the session. */
export interface Result {
	content: { type: string; text?: string }[];
	details?: unknown;
	isError: boolean;
}

/** What an extension may do to a result that a tool returned. Returns what it did, or `undefined`. */
export function meddleWithResult(
	result: Result,
	olderTexts: readonly string[],
	random: Random,
): string | undefined {
	const text = textOf(result);
	if (text === undefined) return undefined;
	const kind = random.weighted([
		[3, "alter a line"],
		[2, "empty"],
		[2, "mark as error"],
		[2, "older text"],
		[1, "add a note"],
		[1, "split in two"],
		[1, "drop details"],
		[1, "add an image"],
	] as const);
	switch (kind) {
		case "mark as error":
			result.isError = true;
			return kind;
		case "drop details":
			result.details = undefined;
			return kind;
		case "empty":
			result.content = random.chance(0.5) ? [] : [{ type: "text", text: "" }];
			return kind;
		case "split in two": {
			// Joined by a newline, as they are for every provider, the halves are the text again.
			const at = text.indexOf("\n", random.below(text.length + 1));
			if (at === -1) return undefined;
			result.content = [text.slice(0, at), text.slice(at + 1)].map(block);
			return kind;
		}
		case "add an image":
			result.content = [
				...result.content,
				{ type: "image", data: "", mimeType: "image/png" } as never,
			];
			return kind;
		case "older text":
			if (olderTexts.length === 0) return undefined;
			result.content = [block(random.pick(olderTexts))];
			return kind;
		default:
			result.content = [block(kind === "add a note" ? `${text}\n(a note)` : altered(text, random))];
			return kind;
	}
}

/** An extension that changes what is sent: always the same results, but not in every request. */
export interface Meddler {
	/** Returns the request as it is sent, and says what was done to it. */
	send(request: Slot[]): { sent: Slot[]; did: string[] };
}

/** `zeal`: how likely a result is to become one that is meddled with, per request. */
export function createMeddler(random: Random, zeal: number): Meddler {
	const habits = new Map<string, (slot: Slot) => Slot>();
	return {
		send(request) {
			const did: string[] = [];
			const results = request.filter(({ message }) => message?.role === "toolResult");
			if (results.length > 0 && random.chance(zeal)) {
				const slot = recent(results, random);
				const [name, habit] = someHabit(random, results);
				habits.set(slot.entryId, habit);
				did.push(`${slot.entryId} from now on: ${name}`);
			}
			if (habits.size > 0 && random.chance(0.1)) habits.clear();
			let sent = request.map((slot) => {
				const habit = habits.get(slot.entryId);
				if (!habit || !slot.message || random.chance(0.15)) return slot;
				did.push(`${slot.entryId} meddled with`);
				return habit(slot);
			});
			if (results.length > 1 && random.chance(zeal / 3)) {
				const [one, other] = [recent(results, random), recent(results, random)];
				sent = swapped(sent, one.entryId, other.entryId);
				did.push(`${one.entryId} and ${other.entryId} swapped`);
			}
			return { sent, did };
		},
	};
}

function someHabit(random: Random, results: Slot[]): [string, (slot: Slot) => Slot] {
	const seed = random.below(1 << 30);
	const older = textOf(random.pick(results).message as Result) ?? "";
	return random.weighted<[string, (slot: Slot) => Slot]>([
		[2, ["drop the text", (slot) => withContent(slot, [])]],
		[2, ["stub", (slot) => withContent(slot, [block("[pruned]")])]],
		[2, ["remove", ({ entryId }) => ({ entryId })]],
		[1, ["another's text", (slot) => withContent(slot, [block(older)])]],
		[
			3,
			[
				"alter a line",
				(slot) => {
					const text = textOf(slot.message as Result) ?? "";
					const lines = text.split("\n");
					lines[seed % lines.length] += "!";
					return withContent(slot, [block(lines.join("\n"))]);
				},
			],
		],
	]);
}

function withContent({ entryId, message }: Slot, content: unknown[]): Slot {
	return { entryId, message: { ...(message as NonNullable<Slot["message"]>), content } };
}

function swapped(request: Slot[], one: string, other: string): Slot[] {
	const first = request.find(({ entryId }) => entryId === one) as Slot;
	const second = request.find(({ entryId }) => entryId === other) as Slot;
	return request.map((slot) => {
		if (slot.entryId === one) return second;
		return slot.entryId === other ? first : slot;
	});
}

/** The newer, the likelier. */
function recent<T>(list: readonly T[], random: Random): T {
	const back = Math.min(random.below(list.length), random.below(list.length));
	return list[list.length - 1 - back] as T;
}

function altered(text: string, random: Random): string {
	const lines = text.split("\n");
	const at = random.below(lines.length);
	lines[at] = random.chance(0.5) ? `${lines[at]} ` : "another line";
	return lines.join("\n");
}

function block(text: string): { type: "text"; text: string } {
	return { type: "text", text };
}

function textOf({ content }: Pick<Result, "content">): string | undefined {
	return content.length === 1 && content[0]?.type === "text" ? content[0].text : undefined;
}
