import { pathToFileURL } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "vitest";
import { promptMessage } from "../../src/acp/prompt-content.ts";
import { fc, runs } from "../support/property.ts";
import { say } from "./editor.ts";

const link = (uri: string): ContentBlock => ({ type: "resource_link", name: "x", uri });
const file = (path: string) => pathToFileURL(path).href;
const embedded = (uri: string, text: string): ContentBlock => ({
	...{ type: "resource", resource: { uri, text } },
});

describe("a prompt as a message", () => {
	test("links become paths, relative to the project if they are inside", () => {
		const blocks = [
			...say("See "),
			link(`${file("/project/src/a b.ts")}#L3:9`),
			...say(", "),
			...[link(file("/other/c.ts")), link("https://example.org/d")],
		];
		const { message } = promptMessage(blocks, "/project");
		expect(message).toBe("See `src/a b.ts#L3:9`, `/other/c.ts``https://example.org/d`");
	});

	test("a path at the start is not a command", () => {
		expect(promptMessage([link(file("/etc"))], "/project").message).toBe("`/etc`");
	});

	test("embedded text follows at the end, in a fence that it cannot leave", () => {
		const { message } = promptMessage(
			[...say("Why? "), embedded(file("/project/a.md"), "```\nx\n```")],
			"/project",
		);
		expect(message).toBe("Why? `a.md`\n\n`a.md`:\n````\n```\nx\n```\n````");
	});

	test("an attachment that does not fit is named, and the prompt is sent", () => {
		const { message } = promptMessage(
			[...say("Why? "), embedded(file("/p/a.ts"), "x".repeat(300_000))],
			"/p",
		);
		expect(message).toContain("`a.ts` has 300000 characters, which is too long to attach.");
		expect(message.length).toBeLessThan(1_000);
	});

	test("images are sent as such, also embedded ones, and a prompt may consist of one", () => {
		const image = { type: "image" as const, data: "AA==", mimeType: "image/png" };
		const blob = { uri: "file:///a.png", blob: "AA==", mimeType: "image/png" };
		const { message, images } = promptMessage([image, { type: "resource", resource: blob }], "/p");
		expect(images).toEqual([image, image]);
		expect(message).toBe("[image]");
	});

	test("no prompt is longer than the server accepts, whatever is attached", () => {
		const attachments = fc.array(fc.integer({ min: 0, max: 150_000 }), { maxLength: 60 });
		fc.assert(
			fc.property(attachments, (sizes) => {
				const blocks = sizes.map((size, at) => embedded(file(`/p/${at}`), "x".repeat(size)));
				const { message } = promptMessage([...say("Why?"), ...blocks], "/p");
				expect(message.length).toBeLessThanOrEqual(200_000);
				expect(message.startsWith("Why?")).toBe(true);
			}),
			{ numRuns: runs(30) },
		);
	});
});
