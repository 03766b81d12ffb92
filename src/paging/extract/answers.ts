import type { HtmlTokenizer } from "./html-tokenizer.ts";

/**
 * The line that begins an answer of a question-and-answer page, from the element that `tokens` just opened: `before` is the line
 * so far, whose score may follow in an element of its own. Returns `before` for other elements.
 */
export function answerNote(tokens: HtmlTokenizer, before: string): string {
	const role = tokens.attribute("itemprop") ?? "";
	const isAccepted =
		role === "acceptedAnswer" || /\baccepted-answer\b/.test(tokens.attribute("class") ?? "");
	const isAnswer =
		isAccepted ||
		role === "suggestedAnswer" ||
		(tokens.attribute("data-answerid") !== undefined &&
			tokens.attribute("data-score") !== undefined);
	if (isAnswer) return note(tokens.attribute("data-score"), isAccepted);
	if (role !== "upvoteCount" || before !== note(undefined, false)) return before;
	return note(tokens.attribute("data-value") ?? tokens.attribute("content"), false);
}

function note(score: string | undefined, isAccepted: boolean): string {
	const hasScore = score !== undefined && /^-?\d{1,9}$/.test(score);
	const facts = [...(hasScore ? [`score ${score}`] : []), ...(isAccepted ? ["accepted"] : [])];
	return facts.length === 0 ? "**Answer**" : `**Answer** (${facts.join(", ")})`;
}
