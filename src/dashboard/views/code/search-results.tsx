import type { CodeSearchAnswer } from "../../../protocol/index.ts";
import { PlainText } from "../../parts/text.tsx";
import { formatCount, formatNumberOf } from "../format.ts";
import { Section } from "../section.tsx";

interface SearchResultsProps {
	answer: CodeSearchAnswer;
	onFile(path: string): void;
	onName(symbol: string, path: string): void;
}

type Hit = CodeSearchAnswer["hits"][number];

/** Files that match, with the names and lines that do. */
export function SearchResults({ answer, onFile, onName }: SearchResultsProps) {
	const { hits, total, atLeast } = answer;
	const all = `${atLeast ? "at least " : ""}${formatCount(total)}`;
	const shown =
		hits.length < total
			? `${formatCount(hits.length)} of ${all} files`
			: `${formatNumberOf(total, "file")}`;
	return (
		<Section title={`Found: ${shown}`}>
			{hits.length === 0 && <p class="soft">Nothing matches.</p>}
			<ul class="hits">
				{hits.map((hit) => (
					<li key={hit.path}>
						<HitHead hit={hit} onFile={onFile} />
						<Names hit={hit} onName={onName} />
						<Lines hit={hit} />
					</li>
				))}
			</ul>
		</Section>
	);
}

function HitHead({ hit, onFile }: { hit: Hit; onFile(path: string): void }) {
	return (
		<p class="hit-head">
			<button type="button" class="link mono" onClick={() => onFile(hit.path)}>
				<PlainText text={hit.path} most={400} />
			</button>
			{hit.isTest && <span class="tag">test</span>}
			{hit.matchingLines !== undefined && (
				<span class="soft small">{formatNumberOf(hit.matchingLines, "matching line")}</span>
			)}
		</p>
	);
}

const MOST_NAMES = 8;

function Names({ hit, onName }: { hit: Hit; onName(symbol: string, path: string): void }) {
	return (
		<>
			{hit.symbols.slice(0, MOST_NAMES).map(({ name, owner, kind, line, exported }) => {
				const whole = owner === undefined ? name : `${owner}.${name}`;
				return (
					<p class="hit-name" key={`${whole}:${line}`}>
						<span class="tag">{kind}</span>
						<button type="button" class="link mono" onClick={() => onName(whole, hit.path)}>
							<PlainText text={whole} most={200} />
						</button>
						<span class="soft small">
							line {line}
							{exported && ", exported"}
						</span>
					</p>
				);
			})}
		</>
	);
}

const MOST_LINES = 12;

function Lines({ hit }: { hit: Hit }) {
	const lines = hit.lines
		.flatMap(({ first, text, matches }) =>
			text.map((words, at) => ({
				number: first + at,
				words,
				isMatch: matches.includes(first + at),
			})),
		)
		.slice(0, MOST_LINES);
	if (lines.length === 0) return null;
	return (
		<ol class="code-lines mono">
			{lines.map(({ number, words, isMatch }) => (
				<li key={number} class={isMatch ? "is-match" : ""}>
					<span class="line-number">{number}</span>
					<code>
						<PlainText text={words} most={300} />
					</code>
				</li>
			))}
		</ol>
	);
}
