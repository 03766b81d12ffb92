import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContentBlock, EmbeddedResourceResource } from "@agentclientprotocol/sdk";
import { isWithin } from "../core/places.ts";
import { oneLine } from "../text/one-line.ts";
import { fenced } from "./fenced.ts";

interface PromptMessage {
	readonly message: string;
	readonly images: { type: "image"; data: string; mimeType: string }[];
}

/** The server's limits. An attachment that does not fit is named, and the model can read the file. */
const MAX_CHARACTERS = 200_000;
const MAX_IMAGES = 20;
const IMAGE_TYPE = /^image\/[a-z0-9.+-]{1,94}$/;
/** Room for the sentences that stand in for attachments. */
const RESERVED = 2_000;

/**
 * Writes the blocks of a prompt as one message, in their order. Links become paths; the text of embedded resources follows
 * at the end, fenced. Throws an error for the user if the prompt cannot be sent.
 */
export function promptMessage(blocks: readonly ContentBlock[], cwd: string): PromptMessage {
	const words: string[] = [];
	const attachments: { name: string; text: string }[] = [];
	const images: PromptMessage["images"] = [];
	const addImage = (data: string, mimeType: string) => {
		if (!IMAGE_TYPE.test(mimeType)) {
			throw new Error(`"${oneLine(mimeType).slice(0, 100)}" is not a type of image`);
		}
		images.push({ type: "image", data, mimeType });
	};
	for (const block of blocks) {
		switch (block.type) {
			case "text":
				words.push(block.text);
				break;
			case "image":
				addImage(block.data, block.mimeType);
				break;
			case "resource_link":
				words.push(reference(block.uri, cwd));
				break;
			case "resource": {
				const { resource } = block;
				const name = reference(resource.uri, cwd);
				if ("text" in resource) {
					words.push(name);
					attachments.push({ name, text: resource.text });
				} else if (isImage(resource)) addImage(resource.blob, resource.mimeType ?? "");
				else words.push(`${name} (not attached: it is not text)`);
				break;
			}
			default:
				throw new Error(`"${oneLine(block.type).slice(0, 100)}" cannot be part of a prompt`);
		}
	}
	if (images.length > MAX_IMAGES) {
		throw new Error(`A prompt can have ${MAX_IMAGES} images, this one has ${images.length}`);
	}
	const spoken = words.join("");
	if (spoken.length > MAX_CHARACTERS) {
		throw new Error(
			`A prompt can have ${MAX_CHARACTERS} characters, this one has ${spoken.length}: attach the text as a file`,
		);
	}
	const message = spoken + attached(attachments, MAX_CHARACTERS - RESERVED - spoken.length);
	if (message.trim() === "" && images.length === 0) throw new Error("The prompt is empty");
	return { message: message.trim() === "" ? "[image]" : message, images };
}

/** In backticks: a path at the start of a message must not look like a command. */
function reference(uri: string, cwd: string): string {
	return `\`${oneLine(pathOf(uri, cwd)).replaceAll("`", "'")}\``;
}

/** The path of a local file, relative to the project if it is inside, with the editor's line range. */
function pathOf(uri: string, cwd: string): string {
	if (!uri.startsWith("file://")) return uri;
	try {
		const { hash } = new URL(uri);
		const path = fileURLToPath(uri.slice(0, uri.length - hash.length));
		return (isWithin(cwd, path) ? relative(cwd, path) : path) + hash;
	} catch {
		return uri; // not a local file
	}
}

function isImage(
	resource: EmbeddedResourceResource,
): resource is typeof resource & { blob: string } {
	return "blob" in resource && IMAGE_TYPE.test(resource.mimeType ?? "");
}

function attached(all: readonly { name: string; text: string }[], room: number): string {
	let left = room;
	const parts = all.map(({ name, text }) => {
		const part = `\n\n${name}:\n${fenced(text)}`;
		if (part.length > left) {
			return `\n\n${name} has ${text.length} characters, which is too long to attach.`.slice(
				0,
				500,
			);
		}
		left -= part.length;
		return part;
	});
	return parts.join("").slice(0, room + RESERVED);
}
