import { useAnswer } from "../../answer.ts";
import { ago } from "../../parts/figures.ts";
import { Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { formatNumberOf } from "../format.ts";
import { Section } from "../section.tsx";
import { useNow } from "../use-now.ts";
import { startWords } from "./start-words.ts";

const MOST_LISTED = 20;

/** What the server made of what the process before it had left. */
export function Recovery() {
	const { data, error, refresh } = useAnswer("get_startup_recovery", {});
	const now = useNow();
	return (
		<Section title="Last start">
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{data && (
				<>
					<p>
						Started {ago(data.startedAtMs, now)}. {startWords(data)}
					</p>
					{data.interrupted.length > 0 && (
						<>
							<p class="notice">
								{formatNumberOf(data.interrupted.length, "command was", "commands were")} under way
								and may or may not have had an effect:
							</p>
							<ul class="usages">
								{data.interrupted
									.slice(0, MOST_LISTED)
									.map(({ commandId, commandType, sessionId }) => (
										<li key={commandId}>
											<code>{commandType}</code>
											{sessionId !== undefined && (
												<span class="soft">
													<PlainText text={sessionId} most={100} />
												</span>
											)}
										</li>
									))}
							</ul>
						</>
					)}
				</>
			)}
		</Section>
	);
}
