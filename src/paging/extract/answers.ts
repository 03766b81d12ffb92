import type { HtmlTokenizer } from "./html-tokenizer.ts";

/** Finds the answers of a question-and-answer page. The answers of a list of frequent questions have no rivals, so no line. */
export class Answers {
	/** The line to write before the next text, or an empty string. */
	note = "";
	#isQuestionList = false;

	/** `tokens` just opened an element. Its answer's score may follow in an element of its own. */
	onOpen(tokens: HtmlTokenizer): void {
		const role = tokens.attribute("itemprop") ?? "";
		this.#isQuestionList ||= /\/FAQPage\b/.test(tokens.attribute("itemtype") ?? "");
		if (this.#isQuestionList) return;
		const isAccepted = role === "acceptedAnswer" || ACCEPTED.test(tokens.attribute("class") ?? "");
		const isAnswer =
			isAccepted ||
			role === "suggestedAnswer" ||
			(tokens.attribute("data-answerid") !== undefined &&
				tokens.attribute("data-score") !== undefined);
		if (isAnswer) this.note = noteOf(tokens.attribute("data-score"), isAccepted);
		else if (role === "upvoteCount" && this.note === noteOf(undefined, false))
			this.note = noteOf(tokens.attribute("data-value") ?? tokens.attribute("content"), false);
	}
}

/** The class as it is: pages also mark their hidden signs of acceptance, as in `js-accepted-answer-indicator`. */
const ACCEPTED = /(?:^|\s)accepted-answer(?:\s|$)/;

function noteOf(score: string | undefined, isAccepted: boolean): string {
	const hasScore = score !== undefined && /^-?\d{1,9}$/.test(score);
	const facts = [...(hasScore ? [`score ${score}`] : []), ...(isAccepted ? ["accepted"] : [])];
	return facts.length === 0 ? "**Answer**" : `**Answer** (${facts.join(", ")})`;
}
