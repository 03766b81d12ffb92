import { property } from "../../core/property.ts";
import { faults } from "./faults.ts";

/**
 * What a tool answered: the JSON in the text of an MCP result. A result that is marked as an error is one, and nothing
 * but whole JSON is an answer.
 */
export function toolAnswer(tool: string, result: unknown): unknown {
	const content = property(result, "content");
	const texts = (Array.isArray(content) ? content : [])
		.map((block) => property(block, "text"))
		.filter((text) => typeof text === "string");
	const text = texts.join("\n");
	if (property(result, "isError") === true) throw faults.refused(tool, text.slice(0, 4000));
	if (texts.length === 0) throw faults.misshapen(tool, "it holds no text");
	try {
		return JSON.parse(text);
	} catch {
		throw faults.misshapen(tool, `it is not JSON but begins with "${text.slice(0, 80)}"`);
	}
}
