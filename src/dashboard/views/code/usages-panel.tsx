import type { CodeUsagesAnswer } from "../../../protocol/index.ts";
import { PlainText } from "../../parts/text.tsx";
import { formatCount, formatNumberOf } from "../format.ts";
import { Section } from "../section.tsx";

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
		<Section
			title="Usages"
			aside={
				<button type="button" class="small" onClick={onClose}>
					Close
				</button>
			}
		>
			{definitions.length === 0 && (
				<p>
					<code>
						<PlainText text={symbol} most={200} />
					</code>{" "}
					is not defined in this project.
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
