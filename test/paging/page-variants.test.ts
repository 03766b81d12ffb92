// @module-tag slow
import { describe, expect, test } from "vitest";
import { type Chunk, pageText } from "../../src/paging/index.ts";
import { openPlace } from "../contracts/paged-source.ts";
import { atEnd } from "../support/temp.ts";

const HTML = { "content-type": "text/html; charset=utf-8" };
const sentence =
	"Every sentence of this page says something, with a comma, about rivers and the sea. ";
const body = `<nav><a href="/">Home</a> <a href="/x">Elsewhere</a></nav><main><h1>Rivers</h1><p>${sentence.repeat(9)}</p><h2 id="sea">The sea</h2><p>${sentence.repeat(9)}</p></main>`;

async function served(path: string, content: string, headers: Record<string, string> = HTML) {
	const place = await openPlace();
	atEnd(() => place.close());
	place.web.serve(path, { headers, body: content });
	return { place, reader: place.reader(), uri: place.web.url(path).href };
}

describe("a page", () => {
	test("with a fragment is read from that section on, and reading continues from there", async () => {
		const { reader, uri } = await served("/rivers", body);
		const first = await reader.read({ uri: `${uri}#sea`, max_chars: 300 });
		expect(first.content.startsWith("## The sea\n\nEvery")).toBe(true);
		const next = await reader.read({ uri: `${uri}#sea`, cursor: first.next_cursor });
		const whole = await reader.read({ uri });
		expect(whole.content.endsWith(first.content + next.content)).toBe(true);
		expect((await reader.read({ uri: `${uri}#nowhere` })).content).toBe(whole.content);
	});

	test("says what it left out in its first chunk, and everything is there on demand", async () => {
		const { reader, uri } = await served("/rivers", body);
		const first = await reader.read({ uri, max_chars: 300 });
		expect(first.left_out).toEqual({ navigation: 14 });
		const second = await reader.read({ uri, max_chars: 300, cursor: first.next_cursor });
		expect(second.left_out).toBeUndefined();
		const whole = await reader.read({ uri, everything: true });
		expect(whole.content).toContain("Elsewhere");
		expect(whole.left_out).toBeUndefined();
		// The cursor of one is not one of the other.
		await expect(
			reader.read({ uri, everything: true, cursor: first.next_cursor }),
		).rejects.toMatchObject({ code: "cursor_foreign" });
	});

	test("is shown to a model with a head, and a token for the rest of it", () => {
		const chunk: Chunk = {
			...{ uri: "https://e.com/", content: "Text.", truncated: false, kind: "html" },
			...{ title: "Rivers", author: "Ada", published: "2026-11-15", left_out: { navigation: 14 } },
		};
		expect(pageText(chunk, { uri: "https://e.com/" }, String)).toBe(
			"[Rivers · by Ada · 2026-11-15]\n\nText.\n\n[Left out: navigation 14 characters. For the whole page, read: page:;;*;https://e.com/]",
		);
	});
});

describe("data", () => {
	test("is as it is stored if everything is asked for", async () => {
		const csv = "a,b\n1,2\n";
		const { reader, uri } = await served("/a.csv", csv, { "content-type": "text/csv" });
		expect((await reader.read({ uri })).content).toBe("| a | b |\n| --- | --- |\n| 1 | 2 |");
		expect((await reader.read({ uri, everything: true })).content).toBe(csv);
	});
});

describe("a page that names its own Markdown", () => {
	const link = '<link rel="alternate" type="text/markdown" href="/rivers.md">';

	test("is read as that Markdown", async () => {
		const { place, reader, uri } = await served("/rivers", `<head>${link}</head>${body}`);
		place.web.serve("/rivers.md", {
			headers: { "content-type": "text/markdown" },
			body: "# Rivers\n\nFrom the source.\n",
		});
		expect(await reader.read({ uri })).toMatchObject({
			content: "# Rivers\n\nFrom the source.\n",
			content_type: "text/markdown",
			final_uri: place.web.url("/rivers.md").href,
		});
	});

	test("is read as it is if the Markdown moved to another site", async () => {
		const other = "http://localhost";
		const { place, reader, uri } = await served("/rivers", `<head>${link}</head>${body}`);
		const plain = { "content-type": "text/markdown" };
		place.web.serve("/moved.md", { headers: plain, body: "from elsewhere" });
		const { port } = place.web.url("/");
		place.web.serve("/rivers.md", {
			status: 302,
			headers: { location: `${other}:${port}/moved.md` },
		});
		expect((await reader.read({ uri })).content).toContain("Every sentence");
	});

	test("is read as it is if the Markdown is missing, is a page, or is elsewhere", async () => {
		const { place, reader, uri } = await served("/rivers", `<head>${link}</head>${body}`);
		expect((await reader.read({ uri })).content).toContain("Every sentence");
		place.web.serve("/other", { headers: HTML, body: `<head>${link}</head>${body}` });
		place.web.serve("/rivers.md", { headers: HTML, body: "<!doctype html><p>an error page" });
		expect((await reader.read({ uri: place.web.url("/other").href })).content).toContain(
			"Every sentence",
		);
		const elsewhere = link.replace("/rivers.md", "https://example.com/rivers.md");
		place.web.serve("/third", { headers: HTML, body: `<head>${elsewhere}</head>${body}` });
		expect((await reader.read({ uri: place.web.url("/third").href })).content).toContain(
			"Every sentence",
		);
	});
});
