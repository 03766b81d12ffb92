// @module-tag slow
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
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

describe("Markdown with a fragment is read from that section on", () => {
	const markdown = `# Rivers\n\n\`\`\`md\n## The sea\n\`\`\`\n\n## [The](/x) sea!\n\n${sentence}\n\n## The sea\n\nAgain.\n`;

	test("on the web, also behind a page that names it", async () => {
		const { place, reader, uri } = await served("/rivers.md", markdown, {
			"content-type": "text/markdown",
		});
		expect((await reader.read({ uri: `${uri}#the-sea` })).content).toMatch(/^## \[The\]/);
		expect((await reader.read({ uri: `${uri}#the-sea-1` })).content).toBe("## The sea\n\nAgain.\n");
		expect((await reader.read({ uri: `${uri}#nowhere` })).content).toBe(markdown);
		const link = '<link rel="alternate" type="text/markdown" href="/rivers.md">';
		place.web.serve("/rivers", { headers: HTML, body: `<head>${link}</head>${body}` });
		const page = place.web.url("/rivers").href;
		expect((await reader.read({ uri: `${page}#the-sea` })).content).toMatch(/^## \[The\]/);
	});

	test("on disk", async () => {
		const place = await openPlace();
		atEnd(() => place.close());
		await writeFile(join(place.root, "notes.md"), markdown);
		const { content } = await place.reader().read({ uri: "notes.md#the-sea" });
		expect(content).toMatch(/^## \[The\]/);
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

describe("the plain text behind a page", () => {
	const plain = { "content-type": "text/plain; charset=utf-8" };

	test("is never guessed: only what the page names is fetched", async () => {
		const { place, reader, uri } = await served("/rivers", body);
		for (const path of ["/rivers.md", "/llms.txt", "/raw/rivers"])
			place.web.serve(path, { headers: plain, body: "not asked for" });
		expect((await reader.read({ uri })).content).toContain("Every sentence");
		expect(place.web.requests.map(({ url }) => url)).toEqual(["/rivers"]);
	});

	test("is the file, where a forge's page links to it", async () => {
		const button = '<a data-testid="raw-button" href="/raw/rivers.c">Raw</a>';
		const { place, reader, uri } = await served("/rivers", `${button}${body}`);
		place.web.serve("/raw/rivers.c", { headers: plain, body: "int main(void);\n" });
		expect((await reader.read({ uri })).content).toBe("int main(void);\n");
	});

	test("is a site's llms.txt for its first page, not for the pages below", async () => {
		const link = '<link rel="alternate" type="text/plain" href="/llms.txt">';
		const { place, reader, uri } = await served("/rivers", `<head>${link}</head>${body}`);
		place.web.serve("/llms.txt", { headers: plain, body: "# Pages of this site\n" });
		place.web.serve("/", { headers: HTML, body: `<head>${link}</head>${body}` });
		expect((await reader.read({ uri })).content).toContain("Every sentence");
		const home = await reader.read({ uri: place.web.url("/").href });
		expect(home.content).toBe("# Pages of this site\n");
	});
});
