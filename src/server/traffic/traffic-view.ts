import type { Data, ResponseData } from "../../protocol/index.ts";
import {
	type ConversationReport,
	type ConversationSums,
	mainConversations,
	windowParts,
} from "../../traffic/index.ts";

type BookedRequest = ConversationReport["steps"][number];
type Miss = NonNullable<BookedRequest["miss"]>;

/** Maximum number of tools and of files in a report. */
const MAX_PARTS = 30;

/** `sums` has one more than `limit` if there are more. */
export function conversationsView(
	sums: readonly ConversationSums[],
	limit: number,
): ResponseData["list_conversations"] {
	const listed = sums.slice(0, limit);
	const mains = mainConversations(listed);
	return {
		conversations: listed.map((one) => {
			const parent = mains.get(one.id);
			return { ...conversationView(one), ...(parent !== undefined && { parent }) };
		}),
		truncated: sums.length > limit,
	};
}

export function reportView(report: ConversationReport): Data<"TrafficReport"> {
	const { byTool, byFile } = windowParts(report.window);
	const largest = (parts: typeof byTool) => ({
		parts: parts.slice(0, MAX_PARTS),
		more: Math.max(0, parts.length - MAX_PARTS),
	});
	return {
		conversation: conversationView(report),
		requests: report.steps.map(requestView),
		window: { byTool: largest(byTool), byFile: largest(byFile) },
	};
}

export function requestView(request: BookedRequest): Data<"TrafficRequest"> {
	const { id, startedMs, model, tokens, cost, miss, provider, ended } = request;
	const { read = 0, write = 0, input = 0, output = 0 } = tokens ?? {};
	return {
		...{ id, atMs: startedMs, model, read, write, input, output, step: request.step },
		...(cost !== undefined && { cost: price(cost, request.dollars) }),
		...(request.changed !== undefined && { changed: request.changed }),
		...(miss && { miss: missView(miss) }),
		...(provider && { providerReason: provider.type }),
		...(ended !== "complete" && { problem: request.error ?? ended }),
	};
}

function conversationView(one: ConversationSums): Data<"TrafficConversation"> {
	const { id, speaker, model, startedMs, usedMs, requests, context, unpriced } = one;
	const { read, write, input, output } = one.tokens;
	const isPriced = unpriced === 0 || one.dollars > 0;
	return {
		...{ id, agent: speaker.agent, isSubagent: speaker.subagent !== undefined, model },
		...{ startedMs, usedMs, requests, context, read, write, input, output },
		cost: price(one.cost, isPriced ? one.dollars : undefined),
		...{ unpriced, misses: one.misses, missDollars: one.missDollars },
		...(one.lastMiss && { lastMiss: missView(one.lastMiss) }),
		...(one.savedTokens > 0 && { savedTokens: one.savedTokens }),
		...(one.savedInShadow > 0 && { savedInShadow: one.savedInShadow }),
	};
}

function missView({ tokens, cause, cost, dollars, changed }: Miss): Data<"CacheMiss"> {
	return { tokens, cause, cost: price(cost, dollars), ...(changed !== undefined && { changed }) };
}

function price(tokens: number, dollars: number | undefined): Data<"Price"> {
	return { tokens, ...(dollars !== undefined && { dollars }) };
}
