import type { CodeSearchAnswer, CodeUsagesAnswer } from "../../../protocol/index.ts";
import { Button } from "../../parts/button.tsx";
import { formatCount, formatNumberOf } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
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
					<PlainText as="code" text={words} most={300} />
				</li>
			))}
		</ol>
	);
}

interface UsagesPanelProps {
	answer: CodeUsagesAnswer;
	onFile(path: string): void;
	onName(symbol: string): void;
	onClose(): void;
}

type Definition = CodeUsagesAnswer["definitions"][number];

/** Where a name is defined and used. */
export function UsagesPanel({ answer, onFile, onName, onClose }: UsagesPanelProps) {
	const { symbol, definitions, omittedDefinitions = 0, suggestions = [] } = answer;
	return (
		<Section title="Usages" aside={<Button class="small" onClick={onClose} words="Close" />}>
			{definitions.length === 0 && (
				<p>
					<PlainText as="code" text={symbol} most={200} /> is not defined in this project.
				</p>
			)}
			{suggestions.length > 0 && (
				<p class="row">
					Did you mean
					{suggestions.slice(0, 8).map((name) => (
						<button type="button" class="small" key={name} onClick={() => onName(name)}>
							<PlainText text={name} most={100} />
						</button>
					))}
				</p>
			)}
			{definitions.map((definition) => (
				<DefinitionBox
					key={`${definition.path}:${definition.line}:${definition.column}`}
					definition={definition}
					onFile={onFile}
				/>
			))}
			{omittedDefinitions > 0 && (
				<p class="soft">And {formatNumberOf(omittedDefinitions, "more definition")}.</p>
			)}
		</Section>
	);
}

const MOST_USAGES = 100;

function DefinitionBox({
	definition,
	onFile,
}: {
	definition: Definition;
	onFile(path: string): void;
}) {
	const { path, line, kind, signature, usages, possible } = definition;
	return (
		<div class="definition">
			<p class="hit-head">
				<span class="tag">{kind}</span>
				<Place path={path} line={line} onFile={onFile} />
			</p>
			<p class="mono signature">
				<PlainText text={signature} most={400} />
			</p>
			<p class="soft small">
				{formatNumberOf(usages.length, "usage")}
				{possible !== undefined &&
					possible.count > 0 &&
					`, and ${formatCount(possible.count)} that may be meant in ${formatNumberOf(possible.files.length, "file")}`}
			</p>
			<ul class="usages">
				{usages.slice(0, MOST_USAGES).map((usage) => (
					<li key={`${usage.path}:${usage.line}:${usage.column}`}>
						<Place path={usage.path} line={usage.line} onFile={onFile} />
						<span class="tag">{usage.kind}</span>
						{usage.isTest && <span class="tag">test</span>}
					</li>
				))}
			</ul>
			{usages.length > MOST_USAGES && (
				<p class="soft">And {formatCount(usages.length - MOST_USAGES)} more.</p>
			)}
		</div>
	);
}

interface PlaceProps {
	path: string;
	line: number;
	onFile(path: string): void;
}

function Place({ path, line, onFile }: PlaceProps) {
	return (
		<button type="button" class="link mono" onClick={() => onFile(path)}>
			<PlainText text={`${path}:${line}`} most={400} />
		</button>
	);
}
