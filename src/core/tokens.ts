/** Characters that one token stands for, on average: pi's own rule of thumb, so that our figures add up with its own. */
const CHARACTERS_PER_TOKEN = 4;

/** A rough count of the tokens in so many characters of text. */
export function estimateTokens(characters: number): number {
	return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** A picture counts as so many characters of text, as pi counts it. */
export const PICTURE_CHARACTERS = 4800;
