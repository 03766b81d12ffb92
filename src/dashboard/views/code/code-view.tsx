import "./code.css";
import { useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Button, submitHandler, TextButton } from "../../parts/controls.tsx";
import { ago, formatCount, formatNumberOf } from "../../parts/figures.ts";
import { Empty, Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { Figures, Section, useNow } from "../section.tsx";
import { Rest } from "../table.tsx";
import { DepsPanel } from "./deps-panel.tsx";

const SEARCH_BOUNDS = { limit: 40, contextLines: 0 };

type Name = { readonly symbol: string; readonly file?: string };

export function CodeView({ sessionId }: SessionViewProps) {
	const [search, setSearch] = useState<{ query: string; includeTests: boolean }>();
	const [path, setPath] = useState<string>();
	const [depth, setDepth] = useState(1);
	const [name, setName] = useState<Name>();
	const found = useAnswer("code_search", search && { sessionId, ...SEARCH_BOUNDS, ...search });
	const deps = useAnswer("code_deps", path === undefined ? undefined : { sessionId, path, depth });
	const usages = useAnswer("code_usages", name && { sessionId, ...name });
	const answers = [usages, deps, found];
	const status = useAnswer("code_status", { sessionId });
	const coverage = answers.find(({ data }) => data)?.data?.coverage ?? status.data?.coverage;
	return (
		<div class="view">
			<SearchForm
				isLoading={answers.some(({ isLoading }) => isLoading)}
				isIndexed={coverage !== undefined}
				onSearch={setSearch}
				onFile={setPath}
			/>
			{[...answers, status].map(
				({ error, refresh }, at) =>
					error !== undefined && (
						<Problem key={at} text={withIndexingHint(error)} onRetry={refresh} />
					),
			)}
			{!search && path === undefined && (
				<Empty>
					Search for a name or for text. From a result you can open the dependencies and dependents
					of a file, and the usages of a name.
				</Empty>
			)}
			{usages.data && <UsagesPanel answer={usages.data} onFile={setPath} onName={setName} />}
			{deps.data && (
				<DepsPanel answer={deps.data} depth={depth} onDepth={setDepth} onFile={setPath} />
			)}
			{found.data && <SearchResults answer={found.data} onFile={setPath} onName={setName} />}
			{coverage ? (
				<IndexHealth coverage={coverage} />
			) : (
				status.data && <NoIndex state={status.data.state} />
			)}
		</div>
	);
}

function withIndexingHint(error: string): string {
	return /not (yet )?indexed|indexing/i.test(error)
		? `${error} The first search indexes the project; try again in a moment.`
		: error;
}

interface SearchFormProps {
	readonly isLoading: boolean;
	readonly isIndexed: boolean;
	onSearch(search: { query: string; includeTests: boolean }): void;
	onFile(path: string): void;
}

function SearchForm({ isLoading, isIndexed, onSearch, onFile }: SearchFormProps) {
	const [text, setText] = useState("");
	const [includeTests, setIncludeTests] = useState(true);
	const query = text.trim();
	const isFile = /\.\w+$/.test(query);
	return (
		<form
			class="card row search-form"
			onSubmit={submitHandler(() => query && onSearch({ query, includeTests }))}
		>
			<input
				type="search"
				aria-label="Search the code"
				placeholder="Name, text or file path"
				maxLength={1000}
				value={text}
				onInput={(event) => setText(event.currentTarget.value)}
			/>
			<Button type="submit" class="primary" disabled={!query} label="Search" />
			<Button disabled={!isFile} onClick={() => onFile(query)} label="Show file" />
			<label class="check row soft">
				<input
					type="checkbox"
					checked={includeTests}
					onChange={(event) => setIncludeTests(event.currentTarget.checked)}
				/>
				include tests
			</label>
			<p class="soft small search-state" role="status">
				{isLoading && "Searching…"}
				{isLoading && !isIndexed && " The first search indexes the project, which takes a while."}
			</p>
		</form>
	);
}

function IndexHealth({ coverage }: { coverage: Data<"CodeCoverage"> }) {
	const now = useNow();
	const { files, unparsed, unresolvedImports, checkedMs, refreshedFiles, complete } = coverage;
	const { leftOut, notStored } = coverage;
	return (
		<Section title="Index">
			{!complete && (
				<p class="notice">The first indexing has not finished: some files may be missing.</p>
			)}
			{notStored && (
				<p class="notice">
					The index is in memory only, because it cannot be written to disk (
					<PlainText text={notStored.reason} />
					).
				</p>
			)}
			<Figures
				figures={[
					["Files", formatCount(files), complete ? "all indexed" : "so far"],
					["With parse errors", formatCount(unparsed.count), listed(unparsed.paths)],
					["Unresolved imports", formatCount(unresolvedImports)],
					[
						"Checked for changes",
						ago(checkedMs, now),
						`${formatNumberOf(refreshedFiles, "file")} re-indexed`,
					],
					leftOut && [
						"Skipped",
						formatCount(leftOut.count),
						listed(leftOut.first.map(({ path, reason }) => `${path} (${reason})`)),
					],
				]}
			/>
		</Section>
	);
}

function listed(paths: readonly string[]) {
	return <PlainText text={paths.slice(0, 3).join(", ")} max={200} />;
}

function NoIndex({ state }: Pick<Data<"CodeStatus">, "state">) {
	return (
		<Section title="Index">
			<p class="notice">
				{state === "partial"
					? "The first indexing was interrupted. The next search continues it, which takes a while."
					: "This project is not indexed yet. The first search indexes it, which takes a while. The index stays on the server's machine."}
			</p>
		</Section>
	);
}

type OnFile = (path: string) => void;

interface PanelProps<Answer> {
	readonly answer: Answer;
	readonly onFile: OnFile;
	/** `undefined` closes the panel of usages. */
	onName(name: Name | undefined): void;
}

const MAX_NAMES = 8;
const MAX_LINES = 12;
const MAX_USAGES = 100;

function SearchResults({ answer, onFile, onName }: PanelProps<Data<"CodeSearchAnswer">>) {
	const { hits, total, atLeast } = answer;
	const all = `${atLeast ? "at least " : ""}${formatCount(total)}`;
	const shown =
		hits.length < total
			? `${formatCount(hits.length)} of ${all} files`
			: formatNumberOf(total, "file");
	return (
		<Section title={`Found: ${shown}`}>
			{hits.length === 0 && <p class="soft">No matches.</p>}
			<ul class="hits plain-list">
				{hits.map(({ path, isTest, matchingLines, symbols, lines }) => (
					<li key={path}>
						<p class="hit-head row">
							<TextButton class="link mono" onClick={() => onFile(path)} text={path} />
							{isTest && <span class="tag">test</span>}
							{matchingLines !== undefined && (
								<span class="soft small">{formatNumberOf(matchingLines, "matching line")}</span>
							)}
						</p>
						{symbols.slice(0, MAX_NAMES).map(({ owner, name, line, kind, exported }) => {
							const whole = owner === undefined ? name : `${owner}.${name}`;
							return (
								<p key={`${whole}:${line}`} class="hit-name row">
									<span class="tag">{kind}</span>
									<TextButton
										class="link mono"
										onClick={() => onName({ symbol: whole, file: path })}
										text={whole}
										max={200}
									/>
									<span class="soft small">
										line {line}
										{exported && ", exported"}
									</span>
								</p>
							);
						})}
						<Lines lines={lines} />
					</li>
				))}
			</ul>
		</Section>
	);
}

function Lines({ lines }: Pick<Data<"CodeSearchAnswer">["hits"][number], "lines">) {
	const shown = lines
		.flatMap(({ first, text, matches }) =>
			text.map((line, at) => {
				const number = first + at;
				return { number, line, isMatch: matches.includes(number) };
			}),
		)
		.slice(0, MAX_LINES);
	if (shown.length === 0) return null;
	return (
		<ol class="code-lines mono">
			{shown.map(({ number, line, isMatch }) => (
				<li key={number} class={isMatch ? "is-match" : ""}>
					<span class="line-number">{number}</span>
					<PlainText as="code" text={line} max={300} />
				</li>
			))}
		</ol>
	);
}

function UsagesPanel({ answer, onFile, onName }: PanelProps<Data<"CodeUsagesAnswer">>) {
	const { symbol, definitions, omittedDefinitions = 0, suggestions = [] } = answer;
	return (
		<Section
			title="Usages"
			aside={<Button class="small" onClick={() => onName(undefined)} label="Close" />}
		>
			{definitions.length === 0 && (
				<p>
					<PlainText as="code" text={symbol} max={200} /> is not defined in this project.
				</p>
			)}
			{suggestions.length > 0 && (
				<p class="row">
					Did you mean:
					{suggestions.slice(0, 8).map((name) => (
						<TextButton
							key={name}
							class="small"
							onClick={() => onName({ symbol: name })}
							text={name}
							max={100}
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

type Definition = Data<"CodeUsagesAnswer">["definitions"][number];

function DefinitionBox({ definition, onFile }: { definition: Definition; onFile: OnFile }) {
	const { path, line, kind, signature, usages, possible } = definition;
	return (
		<div class="definition">
			<p class="hit-head row">
				<span class="tag">{kind}</span>
				<TextButton class="link mono" onClick={() => onFile(path)} text={`${path}:${line}`} />
			</p>
			<p class="mono signature">
				<PlainText text={signature} max={400} />
			</p>
			<p class="soft small">
				{formatNumberOf(usages.length, "usage")}
				{possible !== undefined &&
					possible.count > 0 &&
					`, and ${formatNumberOf(possible.count, "possible usage")} in ${formatNumberOf(possible.files.length, "file")}`}
			</p>
			<ul class="usages plain-list">
				{usages.slice(0, MAX_USAGES).map((usage) => (
					<li key={placeOf(usage)} class="row">
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
			<Rest count={usages.length - MAX_USAGES} />
		</div>
	);
}

function placeOf({ path, line, column }: { path: string; line: number; column: number }): string {
	return `${path}:${line}:${column}`;
}
