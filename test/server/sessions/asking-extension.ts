/** The source of an extension that asks the user: by the command `/ask`, by the tool `ponder`, and at no other time. */
export const askingExtension = `
export default function (pi) {
	pi.on("session_start", (_event, ctx) => {
		ctx.ui.setStatus("asks", "ready");
		ctx.ui.setWidget("asks", ["one", "two"]);
	});
	pi.registerCommand("ask", {
		description: "asks the user",
		handler: async (args, ctx) => {
			const ask = {
				select: () => ctx.ui.select("Which?", ["left", "right"]),
				confirm: () => ctx.ui.confirm("Sure?", "Really sure?"),
				input: () => ctx.ui.input("Name?", "a name"),
				editor: () => ctx.ui.editor("Text?", "draft"),
				short: () => ctx.ui.input("Quick?", "", { timeout: 20 }),
			}[args.trim()];
			pi.appendEntry("answer", { answer: (await ask()) ?? null });
		},
	});
	pi.registerCommand("tell", {
		description: "tells the user",
		handler: async (_args, ctx) => {
			ctx.ui.notify("look", "warning");
			ctx.ui.setTitle("title");
			ctx.ui.setEditorText("typed");
			ctx.ui.setWorkingMessage("working");
			ctx.ui.setStatus("asks", undefined);
		},
	});
	pi.registerCommand("rename", {
		description: "names the session",
		handler: async (args) => pi.setSessionName(args.trim()),
	});
	pi.registerCommand("renew", {
		description: "starts a new session",
		handler: async (_args, ctx) => void (await ctx.newSession()),
	});
	pi.registerCommand("fail", {
		description: "throws",
		handler: async () => { throw new Error("broken at /srv/secret/place.ts"); },
	});
	pi.registerTool({
		name: "ponder",
		label: "Ponder",
		description: "asks the user",
		parameters: { type: "object", properties: {} },
		execute: async (_id, _params, signal, _update, ctx) => {
			const answer = await ctx.ui.confirm("Go on?", "", { signal });
			return { content: [{ type: "text", text: "the user said " + answer }], details: {} };
		},
	});
	pi.registerTool({
		name: "wait",
		label: "Wait",
		description: "waits until it is stopped",
		parameters: { type: "object", properties: {} },
		execute: (_id, _params, signal) =>
			new Promise((_resolve, reject) => {
				signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
			}),
	});
}
`;
