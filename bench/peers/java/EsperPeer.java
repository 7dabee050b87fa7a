import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import java.util.HashSet;
import java.util.Set;

/** Patterns of Esper. A timer ends just before its time, so windows are a millisecond longer. */
public final class EsperPeer {
    private static final String SCHEMA =
        "@public @buseventtype create objectarray schema Trade"
            + "(type string, name string, price double, account int);\n";

    private static String pattern(String workload, long window) {
        String within = " where timer:within(" + (window + 1) + " msec)";
        switch (workload) {
            case "sequence":
                return "every a=Trade(type='SELL', name='INTC') -> ((every b=Trade(type='BUY', name='RIMM'))"
                    + " -> (every c=Trade(type='BUY', name='QQQ')))" + within;
            case "first":
                return "every a=Trade(type='SELL', name='INTC') -> (b=Trade(type='BUY', name='RIMM')"
                    + " -> c=Trade(type='BUY', name='QQQ'))" + within;
            case "keyed":
                return "every a=Trade(type='SELL') -> ((every b=Trade(type='BUY', name=a.name))"
                    + " -> (every c=Trade(type='SELL', name=a.name)))" + within;
            case "rising":
                return "every a=Trade(type='SELL') -> ((every b=Trade(type='BUY', name=a.name, price>a.price))"
                    + " -> (every c=Trade(type='SELL', name=a.name, price>b.price)))" + within;
            case "absence":
                return "every a=Trade(type='SELL') -> (timer:interval(" + (window + 1)
                    + " msec) and not Trade(type='BUY', name=a.name))";
            case "funnel":
                return "every a=Trade(type='SELL') -> (b=Trade(type='BUY', account=a.account)"
                    + " -> c=Trade(type='SELL', account=a.account))" + within;
            default:
                throw new Trades.CannotSay("no pattern that lists every choice of repeated events");
        }
    }

    private static long count(Trades.Trade[] trades, String workload, long window) throws Exception {
        boolean funnel = workload.equals("funnel");
        String select = funnel ? "a.account as account" : "1 as one";
        String text = SCHEMA + "@name('found') select " + select + " from pattern [" + pattern(workload, window) + "];";
        Configuration configuration = new Configuration();
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
        EPRuntime runtime = EPRuntimeProvider.getRuntime("peer" + System.nanoTime(), configuration);
        runtime.initialize();
        runtime.getEventService().advanceTime(0);
        EPStatement statement = runtime.getDeploymentService()
            .deploy(EPCompilerProvider.getCompiler().compile(text, new CompilerArguments(configuration)))
            .getStatements()[1];
        long[] found = {0};
        Set<Object> accounts = new HashSet<>();
        statement.addListener((events, old, source, engine) -> {
            found[0] += events.length;
            if (funnel) {
                for (var event : events) {
                    accounts.add(event.get("account"));
                }
            }
        });
        for (Trades.Trade trade : trades) {
            runtime.getEventService().advanceTime(trade.time);
            Object[] row = {trade.type, trade.name, trade.price, trade.account};
            runtime.getEventService().sendEventObjectArray(row, "Trade");
        }
        runtime.destroy();
        return funnel ? accounts.size() : found[0];
    }

    public static void main(String[] arguments) throws Exception {
        Trades.main(arguments, EsperPeer::count);
    }
}
