// Starts `ensue lsp` for .ceql files. What the language is, the server knows.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

async function start() {
  const [command, ...args] = vscode.workspace.getConfiguration("ensue").get("command");
  const server = { command, args, transport: TransportKind.stdio };
  client = new LanguageClient("ensue", "CEQL", server, {
    documentSelector: [{ language: "ceql" }],
  });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `'${command}' did not start: ${error.message}. Install it with pip install 'ensue[lsp]', ` +
        "and say where it is in the setting ensue.command.",
    );
  }
}

async function stop() {
  if (client !== undefined && client.isRunning()) {
    await client.stop();
  }
}

exports.activate = async (context) => {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(vscode.commands.registerCommand("ensue.restart", restart));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("ensue.command")) {
        restart();
      }
    }),
  );
  await start();
};

exports.deactivate = stop;
