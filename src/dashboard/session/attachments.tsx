import { signal } from "@preact/signals";
import type { CommandFields } from "../../protocol/index.ts";
import { IconButton } from "../parts/controls.tsx";
import { bytes } from "../parts/figures.ts";
import { toast } from "../parts/notices.tsx";
import { PlainText } from "../parts/text.tsx";

export type SentImage = NonNullable<CommandFields<"prompt">["images"]>[number];

interface Attachment {
	readonly name: string;
	readonly bytes: number;
	readonly image: SentImage;
}

const IMAGE_TYPES: ReadonlySet<string> = new Set([
	"image/png",
	"image/jpeg",
	"image/gif",
	"image/webp",
]);
/** What providers accept at most. */
const MAX_IMAGE_BYTES = 5 * 2 ** 20;
const MAX_IMAGES = 20;
/** A longer text belongs into a file that the agent reads. */
const MAX_TEXT_BYTES = 64 * 1024;

export type Attachments = ReturnType<typeof createAttachments>;

/** Pictures that go with the next message. They live as long as the page. */
export function createAttachments() {
	const images = signal<readonly Attachment[]>([]);
	return {
		images,
		remove(attachment: Attachment): void {
			images.value = images.value.filter((one) => one !== attachment);
		},
		/** Adds files that were pasted or dropped. `insert` gets the text of text files. */
		async add(files: readonly File[], insert: (text: string) => void): Promise<void> {
			for (const file of files) {
				const taken = await take(file, images.value.length);
				if (typeof taken === "string") toast(taken, "warning");
				else if ("text" in taken) insert(taken.text);
				else images.value = [...images.value, taken];
			}
		},
	};
}

/** A picture, a text to insert, or why the file is not taken. */
async function take(file: File, count: number): Promise<Attachment | { text: string } | string> {
	const { name, size, type } = file;
	if (IMAGE_TYPES.has(type)) {
		if (size > MAX_IMAGE_BYTES) return `${name} is too large: ${bytes(size)} of at most 5 MiB`;
		if (count >= MAX_IMAGES) return `At most ${MAX_IMAGES} pictures can be sent with a message`;
		const data = base64(new Uint8Array(await file.arrayBuffer()));
		return { name, bytes: size, image: { type: "image", data, mimeType: type } };
	}
	if (size > MAX_TEXT_BYTES) {
		return `${name} is too large to paste (${bytes(size)}): name it with @, so that the agent reads it`;
	}
	const text = await textOf(file);
	return text === undefined
		? `${name} is neither a picture (PNG, JPEG, GIF, WebP) nor text`
		: { text: fenced(name, text) };
}

async function textOf(file: File): Promise<string | undefined> {
	try {
		const decoder = new TextDecoder("utf-8", { fatal: true });
		const text = decoder.decode(await file.arrayBuffer());
		return text.includes("\0") ? undefined : text;
	} catch {
		return undefined; // not UTF-8
	}
}

/** The text in a Markdown fence that is longer than any in the text. */
export function fenced(name: string, text: string): string {
	const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length));
	const fence = "`".repeat(longest + 1);
	const end = text.endsWith("\n") ? "" : "\n";
	return `${name}:\n${fence}\n${text}${end}${fence}\n`;
}

function base64(data: Uint8Array): string {
	let text = "";
	// In parts, because a call takes a limited number of arguments.
	for (let at = 0; at < data.length; at += 8192) {
		text += String.fromCharCode(...data.subarray(at, at + 8192));
	}
	return btoa(text);
}

export function AttachmentList({ attachments }: { attachments: Attachments }) {
	const { images } = attachments;
	if (images.value.length === 0) return null;
	return (
		<ul class="attachments row plain-list" aria-label="Pictures to send">
			{images.value.map((one, at) => (
				<li key={at} class="attachment line small">
					<PlainText text={one.name} max={60} /> <span class="soft">{bytes(one.bytes)}</span>
					<IconButton
						icon="✕"
						label={`Remove ${one.name}`}
						onClick={() => attachments.remove(one)}
					/>
				</li>
			))}
		</ul>
	);
}
