import type { Tiers } from "../../../protocol/index.ts";
import { ago, short } from "../../parts/figures.ts";
import { PlainText, stretchesOf } from "../../parts/text.tsx";
import { formatCount } from "../format.ts";
import { Section, TableBox } from "../section.tsx";
import { useNow } from "../use-now.ts";

const LAYOUTS: Readonly<Record<Tiers["layout"], string>> = {
	log: "Files lie in the conversation, and what changes is added at its end.",
	tiers: "Files lie before the conversation, the most stable first.",
	off: "The working set is empty or switched off.",
};

const MOST_LINES = 200;

/** The files that are kept before the model's eyes, and where they lie in the prompt. */
export function WorkingSet({ tiers }: { tiers: Tiers }) {
	const now = useNow();
	const { layout, files, picture } = tiers;
	return (
		<Section title="Working set">
			<p class="soft">{LAYOUTS[layout]}</p>
			{files.length > 0 && (
				<TableBox label="Files of the working set">
					<thead>
						<tr>
							<th scope="col">File</th>
							<th scope="col">Tier</th>
							<th scope="col" class="right roomy">
								Answers unchanged
							</th>
							<th scope="col" class="right">
								Tokens
							</th>
							<th scope="col" class="right roomy">
								Cache hits
							</th>
							<th scope="col" class="right">
								Changed
							</th>
						</tr>
					</thead>
					<tbody>
						{files.slice(0, MOST_LINES).map((file) => (
							<tr key={file.path}>
								<th scope="row" class="wide plain">
									<PlainText text={file.path} most={300} />
								</th>
								<td>
									<span class={`tier is-${file.tier}`}>{file.tier}</span>
								</td>
								<td class="right roomy">{formatCount(file.n)}</td>
								<td class="right">{short(file.tokens)}</td>
								<td class="right roomy">{formatCount(file.hits)}</td>
								<td class="right soft">{ago(file.lastChangeMs, now)}</td>
							</tr>
						))}
					</tbody>
				</TableBox>
			)}
			{picture !== "" && (
				// biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
				<section class="prompt-picture" aria-label="The prompt from first to last" tabIndex={0}>
					<pre>{stretchesOf(picture)}</pre>
				</section>
			)}
		</Section>
	);
}
