/** Pi's own rule of thumb, so that our figures match pi's. */
const CHARACTERS_PER_TOKEN = 4;

export function estimateTokens(characters: number): number {
	return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** Pi counts a picture as this many characters. */
export const PICTURE_CHARACTERS = 4800;
