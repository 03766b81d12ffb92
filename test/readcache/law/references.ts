/** Expands references by what stands in a request. Shares no code with what makes them, but for the names of calls. */
import { nameOf } from "../../../src/birth/result.ts";
import { type Slot, textOf } from "./oracle.ts";

const REFERENCE =
	/^\[strata: lines (\d+)-(\d+) of the output of `([^`]*)`(?: \((\S+)\))? above, unchanged(?:; full text: read .+)?\]$/;

/** `undefined` if a reference leads nowhere. */
export function expandedIn(text: string, above: readonly Slot[]): string | undefined {
	const lines: string[] = [];
	let results: ReturnType<typeof resultsIn> | undefined;
	for (const line of text.split("\n")) {
		const [, first, last, name, id] = REFERENCE.exec(line) ?? [];
		if (name === undefined) {
			lines.push(line);
			continue;
		}
		results ??= resultsIn(above);
		const meant = results.findLast((one) => one.name === name && (!id || one.id === id));
		const found = meant?.text?.split("\n").slice(Number(first) - 1, Number(last));
		if (found?.length !== Number(last) - Number(first) + 1) return undefined;
		lines.push(...found);
	}
	return lines.join("\n");
}

/** The results with the names of their calls, as far as the request has the calls. */
function resultsIn(request: readonly Slot[]) {
	const names = new Map<string, string>();
	return request.flatMap(({ message }) => {
		if (message?.role === "assistant" && Array.isArray(message.content)) {
			for (const { type, id, name, arguments: input } of message.content) {
				if (type === "toolCall") names.set(id, nameOf({ tool: name, input }));
			}
		}
		const { toolCallId: id } = (message ?? {}) as { toolCallId?: string };
		if (message?.role !== "toolResult" || id === undefined) return [];
		return [{ id, name: names.get(id), text: textOf(message.content) }];
	});
}
