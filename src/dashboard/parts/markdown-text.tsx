import { ClippedText } from "./clipped-text.tsx";
import { type Inline, type MarkdownBlock, markdown } from "./markdown.ts";
import { stretchesOf } from "./text.tsx";
import { visibleString } from "./visible-text.ts";

const FIRST = { most: 40_000, lines: 800 };

/** What a model says: simple Markdown, as elements and never as HTML. */
export function MarkdownText({ text }: { text: string }) {
	return (
		<div class="markdown" dir="auto">
			<ClippedText text={text} first={FIRST} more={FIRST}>
				{(shown) => markdown(shown).map((block, at) => <Block key={at} block={block} />)}
			</ClippedText>
		</div>
	);
}

function Block({ block }: { block: MarkdownBlock }) {
	switch (block.kind) {
		case "code":
			return (
				<div class="code-block">
					{block.language && <span class="code-language">{visibleString(block.language)}</span>}
					<pre>{stretchesOf(block.text)}</pre>
				</div>
			);
		case "heading":
			return (
				<p class="heading">
					<Inlines inlines={block.inlines} />
				</p>
			);
		case "quote":
			return (
				<blockquote>
					<Inlines inlines={block.inlines} />
				</blockquote>
			);
		case "list":
			return (
				<ul>
					{block.items.map(({ level, mark, inlines }, at) => (
						<li key={at} class={`level-${level}`}>
							<span class="list-mark">{mark || "•"}</span>
							<span class="list-words">
								<Inlines inlines={inlines} />
							</span>
						</li>
					))}
				</ul>
			);
		case "rule":
			return <hr />;
		default:
			return (
				<p>
					<Inlines inlines={block.inlines} />
				</p>
			);
	}
}

function Inlines({ inlines }: { inlines: readonly Inline[] }) {
	return (
		<>
			{inlines.map((inline, at) => {
				switch (inline.kind) {
					case "code":
						return <code key={at}>{stretchesOf(inline.text)}</code>;
					case "strong":
						return <strong key={at}>{stretchesOf(inline.text)}</strong>;
					case "emphasis":
						return <em key={at}>{stretchesOf(inline.text)}</em>;
					case "link":
						return <Link key={at} text={inline.text} href={inline.href} />;
					default:
						return stretchesOf(inline.text);
				}
			})}
		</>
	);
}

/** A link says where it leads: its words may say otherwise. */
function Link({ text, href }: { text: string; href: string }) {
	return (
		<>
			<a href={href} target="_blank" rel="noopener noreferrer">
				{stretchesOf(text)}
			</a>
			{text !== href && <span class="soft"> ({visibleString(new URL(href).host)})</span>}
		</>
	);
}
