/** The API's validation of requests, as far as a context engine can violate it. */
import {
	checkMarkers,
	invalidRequest,
	type LoopbackBlock,
	type LoopbackBody,
	type LoopbackMessage,
} from "./loopback-cache.ts";

/**
 * Accepts a parsed request body or throws the API's 400: shape, roles, empty text, breakpoints,
 * and each `tool_use` answered by the message right after it.
 */
export function validateBody(body: unknown): asserts body is LoopbackBody {
	if (!isObject(body)) throw invalidRequest("body: expected a JSON object");
	if (typeof body.model !== "string") throw invalidRequest("model: Field required");
	if (body.stream !== true) throw invalidRequest("stream: the loopback only streams");
	if (!Array.isArray(body.messages) || body.messages.length === 0) {
		throw invalidRequest("messages: at least one message is required");
	}
	checkTools(body.tools ?? []);
	checkContent(body.system ?? [], "system");
	body.messages.forEach(checkMessage);
	const checked = body as LoopbackBody;
	checkMarkers(checked);
	checkToolPairs(checked.messages);
}

const ROLES: readonly unknown[] = ["user", "assistant", "system"];

function checkTools(tools: unknown): void {
	if (!Array.isArray(tools) || !tools.every(isObject)) {
		throw invalidRequest("tools: expected a list of objects");
	}
	const deferred = tools.findIndex((tool) => tool.defer_loading === true && tool.cache_control);
	if (deferred !== -1) {
		throw invalidRequest(`tools.${deferred}: a deferred tool cannot have cache_control set`);
	}
}

function checkMessage(message: unknown, m: number): void {
	const where = `messages.${m}`;
	if (!isObject(message)) throw invalidRequest(`${where}: expected an object`);
	const { role, content, output_config: outputConfig } = message;
	if (!ROLES.includes(role)) {
		throw invalidRequest(`${where}.role: unknown role ${JSON.stringify(role)}`);
	}
	checkContent(content, `${where}.content`);
	// A system message may carry nothing but an effort setting; that is how pi changes it midway.
	const settingOnly = role === "system" && outputConfig !== undefined;
	if ((content as string | unknown[]).length === 0 && !settingOnly) {
		throw invalidRequest(`${where}: all messages must have non-empty content`);
	}
}

function checkContent(content: unknown, where: string): void {
	if (typeof content === "string") {
		checkText({ text: content }, where);
		return;
	}
	if (!Array.isArray(content)) throw invalidRequest(`${where}: expected a string or a list`);
	content.forEach((block: unknown, i) => {
		if (!isObject(block) || typeof block.type !== "string") {
			throw invalidRequest(`${where}.${i}.type: Field required`);
		}
		if (block.type === "text") checkText(block, `${where}.${i}`);
		if (block.type.endsWith("thinking") && block.cache_control) {
			throw invalidRequest(`${where}.${i}: cache_control cannot be set for thinking blocks`);
		}
		if (block.type === "thinking" && typeof block.signature !== "string") {
			throw invalidRequest(`${where}.${i}.thinking.signature: Field required`);
		}
		// Only text blocks must not be empty: a tool may return the empty string.
		if (block.type === "tool_result" && Array.isArray(block.content)) {
			checkContent(block.content, `${where}.${i}.content`);
		}
	});
}

function checkText(block: { text?: unknown; cache_control?: unknown }, where: string): void {
	const { text } = block;
	if (typeof text !== "string") throw invalidRequest(`${where}.text: Field required`);
	if (text === "" && block.cache_control) {
		throw invalidRequest(`${where}: cache_control cannot be set for empty text blocks`);
	}
	if (text === "") throw invalidRequest(`${where}: text content blocks must be non-empty`);
	if (text.trim() === "") {
		throw invalidRequest(`${where}: text content blocks must contain non-whitespace text`);
	}
}

function checkToolPairs(messages: LoopbackMessage[]): void {
	const seen = new Set<unknown>();
	messages.forEach((message, m) => {
		const asked = message.role === "assistant" ? idsOf(message, "tool_use", "id") : [];
		for (const id of asked) {
			if (typeof id !== "string" || !/^[a-zA-Z0-9_-]+$/.test(id)) {
				throw invalidRequest(`messages.${m}: tool_use id ${JSON.stringify(id)} is malformed`);
			}
			if (seen.has(id))
				throw invalidRequest(`messages.${m}: \`tool_use\` ids must be unique: ${id}`);
			seen.add(id);
		}
		const next = messages[m + 1];
		const answered = next?.role === "user" ? idsOf(next, "tool_result", "tool_use_id") : [];
		const missing = asked.filter((id) => !answered.includes(id));
		if (missing.length > 0) {
			throw invalidRequest(
				`messages.${m}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}`,
			);
		}
	});
	messages.forEach((message, m) => {
		const before = messages[m - 1];
		const asked = before?.role === "assistant" ? idsOf(before, "tool_use", "id") : [];
		const answered = idsOf(message, "tool_result", "tool_use_id");
		const stray = answered.find((id) => !asked.includes(id));
		if (stray !== undefined) {
			throw invalidRequest(
				`messages.${m}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
			);
		}
		if (new Set(answered).size < answered.length) {
			throw invalidRequest(`messages.${m}: each tool_use must have a single result`);
		}
		const types = blocksOf(message).map((block) => block.type);
		if (types.slice(0, answered.length).some((type) => type !== "tool_result")) {
			throw invalidRequest(
				`messages.${m}: \`tool_result\` blocks must come first in their message`,
			);
		}
	});
}

function idsOf(message: LoopbackMessage, type: string, field: string): unknown[] {
	return blocksOf(message)
		.filter((block) => block.type === type)
		.map((block) => block[field]);
}

function blocksOf(message: LoopbackMessage): LoopbackBlock[] {
	return typeof message.content === "string" ? [] : message.content;
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
