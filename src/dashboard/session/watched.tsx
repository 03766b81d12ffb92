import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { client } from "../connection/connection.ts";
import { Button } from "../parts/controls.tsx";
import { orToast, toast } from "../parts/notices.tsx";
import { useAction } from "../parts/use-action.ts";
import { DEFAULT_VIEW, navigate } from "../route.ts";
import type { OpenSession } from "./open-session.ts";

/** Around a conversation. One that runs in a terminal is marked, and has no box to write in. */
export function Watched({
	session,
	children,
}: {
	session: OpenSession;
	children: ComponentChildren;
}) {
	const { watched, sessionFile } = session.state.value ?? {};
	if (!watched) return <>{children}</>;
	const { piProcess } = watched;
	return (
		<WatchedBanner session={session} piProcess={piProcess} sessionFile={sessionFile}>
			{children}
		</WatchedBanner>
	);
}

/** No event says that a pi in a terminal has ended. */
const LOOK_MS = 3_000;

interface WatchedBannerProps {
	readonly session: OpenSession;
	readonly piProcess: number | undefined;
	readonly sessionFile: string | undefined;
	readonly children: ComponentChildren;
}

function WatchedBanner({ session, piProcess, sessionFile, children }: WatchedBannerProps) {
	useEffect(() => {
		if (piProcess === undefined) return;
		const timer = setInterval(() => session.refreshState(), LOOK_MS);
		return () => clearInterval(timer);
	}, [session, piProcess]);
	const { run, attributes } = useAction();
	async function openCopy(): Promise<void> {
		if (sessionFile === undefined) return;
		const opened = await orToast(client().request("load_session", { sessionPath: sessionFile }));
		if (!opened) return;
		if (opened.data.warning) toast(opened.data.warning, "warning");
		navigate({ page: "session", sessionId: opened.data.sessionId, view: DEFAULT_VIEW });
	}
	return (
		<div class="is-watched">
			<div class="banner row">
				<p>
					<strong>In a terminal:</strong>{" "}
					{piProcess === undefined
						? "this pi has ended. The session is read-only here."
						: `pi runs there (process ${piProcess}). This page follows it, read-only.`}
				</p>
				<Button
					{...attributes}
					onClick={() => void run(openCopy)}
					label={piProcess === undefined ? "Continue it here" : "Work on a copy"}
				/>
			</div>
			{children}
		</div>
	);
}
