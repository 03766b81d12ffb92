import type { Data } from "../../../protocol/index.ts";
import { Button, TextButton } from "../../parts/controls.tsx";
import { formatCount, formatNumberOf } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { Section } from "../section.tsx";
import { Rest } from "../table.tsx";

type OnFile = (path: string) => void;

interface SearchResultsProps {
	answer: Data<"CodeSearchAnswer">;
	onFile: OnFile;
	onName(symbol: string, path: string): void;
}

type Hit = Data<"CodeSearchAnswer">["hits"][number];

const MOST_NAMES = 8;
const MOST_LINES = 12;
const MOST_USAGES = 100;

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
			<ul class="hits plain-list">
				{hits.map(({ path, isTest, matchingLines, symbols, lines }) => (
					<li key={path}>
						<p class="hit-head">
							<TextButton class="link mono" onClick={() => onFile(path)} text={path} />
							{isTest && <span class="tag">test</span>}
							{matchingLines !== undefined && (
								<span class="soft small">{formatNumberOf(matchingLines, "matching line")}</span>
							)}
						</p>
						{symbols.slice(0, MOST_NAMES).map((symbol) => (
							<Name key={keyOf(symbol)} symbol={symbol} onName={(name) => onName(name, path)} />
						))}
						<Lines lines={lines} />
					</li>
				))}
			</ul>
		</Section>
	);
}

interface NameProps {
	symbol: Hit["symbols"][number];
	onName(name: string): void;
}

function Name({ symbol, onName }: NameProps) {
	const { kind, line, exported } = symbol;
	const name = nameOf(symbol);
	return (
		<p class="hit-name">
			<span class="tag">{kind}</span>
			<TextButton class="link mono" onClick={() => onName(name)} text={name} most={200} />
			<span class="soft small">
				line {line}
				{exported && ", exported"}
			</span>
		</p>
	);
}

function nameOf({ owner, name }: NameProps["symbol"]): string {
	return owner === undefined ? name : `${owner}.${name}`;
}

function keyOf(symbol: NameProps["symbol"]): string {
	return `${nameOf(symbol)}:${symbol.line}`;
}

function Lines({ lines }: Pick<Hit, "lines">) {
	const shown = lines
		.flatMap(({ first, text, matches }) =>
			text.map((words, at) => {
				const number = first + at;
				return { number, words, isMatch: matches.includes(number) };
			}),
		)
		.slice(0, MOST_LINES);
	if (shown.length === 0) return null;
	return (
		<ol class="code-lines mono">
			{shown.map(({ number, words, isMatch }) => (
				<li key={number} class={isMatch ? "is-match" : ""}>
					<span class="line-number">{number}</span>
					<PlainText as="code" text={words} most={300} />
				</li>
			))}
		</ol>
	);
}

interface UsagesPanelProps {
	answer: Data<"CodeUsagesAnswer">;
	onFile: OnFile;
	onName(symbol: string): void;
	onClose(): void;
}

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
						<TextButton
							key={name}
							class="small"
							onClick={() => onName(name)}
							text={name}
							most={100}
						/>
					))}
				</p>
			)}
			{definitions.map((definition) => (
				<DefinitionBox key={placeOf(definition)} definition={definition} onFile={onFile} />
			))}
			{omittedDefinitions > 0 && (
				<p class="soft">And {formatNumberOf(omittedDefinitions, "more definition")}.</p>
			)}
		</Section>
	);
}

interface DefinitionBoxProps {
	definition: Data<"CodeUsagesAnswer">["definitions"][number];
	onFile: OnFile;
}

function DefinitionBox({ definition, onFile }: DefinitionBoxProps) {
	const { path, line, kind, signature, usages, possible } = definition;
	return (
		<div class="definition">
			<p class="hit-head">
				<span class="tag">{kind}</span>
				<TextButton class="link mono" onClick={() => onFile(path)} text={`${path}:${line}`} />
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
			<ul class="usages plain-list">
				{usages.slice(0, MOST_USAGES).map((usage) => (
					<li key={placeOf(usage)}>
						<TextButton
							class="link mono"
							onClick={() => onFile(usage.path)}
							text={`${usage.path}:${usage.line}`}
						/>
						<span class="tag">{usage.kind}</span>
						{usage.isTest && <span class="tag">test</span>}
					</li>
				))}
			</ul>
			<Rest count={usages.length - MOST_USAGES} />
		</div>
	);
}

function placeOf({ path, line, column }: { path: string; line: number; column: number }): string {
	return `${path}:${line}:${column}`;
}
