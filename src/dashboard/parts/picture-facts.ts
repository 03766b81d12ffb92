import { byteCount, firstBytes } from "./base64.ts";
import { bytes } from "./figures.ts";
import { isPictureType, type PictureSize, pictureSize } from "./picture-size.ts";

/** A picture as messages carry it. */
export interface Picture {
	readonly mimeType: string;
	/** Base64; empty where the server has left it out. */
	readonly data: string;
}

/** What is known of a picture before it is drawn. */
export type PictureFacts =
	| { kind: "drawable"; size: PictureSize; words: string; isLarge: boolean }
	/** The server keeps it, but has not sent it. */
	| { kind: "unsent"; words: string }
	| { kind: "refused"; words: string };

/** Larger ones are drawn only when somebody asks for it, in bytes. */
const LARGE = 4_000_000;
/** Drawn, a picture takes four bytes for each of its points, however few it takes as a file. */
const MOST_POINTS = 60_000_000;
/** The head of a picture, in letters of base64: what a camera writes before the size may be long. */
const HEAD = 400_000;

/** Decides about a picture of others: whether it is drawn, and what is said of it. */
export function pictureFacts({ mimeType, data }: Picture): PictureFacts {
	if (!isPictureType(mimeType)) {
		return { kind: "refused", words: `Picture, ${mimeType || "of unknown type"}: not shown` };
	}
	if (data === "") return { kind: "unsent", words: `Picture, ${mimeType}` };
	const count = byteCount(data);
	const words = `Picture, ${mimeType}, ${bytes(count)}`;
	const head = firstBytes(data, HEAD);
	const size = head && pictureSize(mimeType, head);
	if (!size) return { kind: "refused", words: `${words}: damaged, or of another type` };
	const whole = `${words}, ${size.width} × ${size.height}`;
	if (size.width * size.height > MOST_POINTS) {
		return { kind: "refused", words: `${whole}: too large to be drawn` };
	}
	return { kind: "drawable", size, words: whole, isLarge: count > LARGE };
}
